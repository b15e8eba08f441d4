// Prints the files and functions that one operation enters: `npm run walk -- call`, `view`, `project`, or all three without a word.
// V8's precise coverage says which functions ran and how often. Coverage has no order, so a load hook also notes the first entry of
// each function; the two must name the same files.

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { Session } from 'node:inspector/promises'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseAst } from 'vite'

/** The search index follows a second behind appends. */
const indexedMs = 2500

const root = join(import.meta.dirname, '..')

/** A function of the packages, by the order in which the module loader met it. */
interface Place {
  readonly file: string
  readonly name: string
}

interface Walk {
  readonly operation: string
  /** Functions with a name, in the order of their first entry. */
  readonly entered: readonly Place[]
  /** Calls of each, by `file name`. */
  readonly calls: ReadonlyMap<string, number>
}

const places: Place[] = []
/** First entries of the operation under way; undefined outside of one. */
let order: Set<number> | undefined

/** The operations; each returns what is to be walked, and what closes it. */
const operations: Readonly<
  Record<string, () => Promise<{ run: () => Promise<unknown>; close: () => Promise<unknown> }>>
> = { call: managedCall, view: threadView, project: projectHistory }

const messages = Array.from({ length: 13 }, (_, index) => ({
  role: index % 2 === 0 ? 'user' : 'assistant',
  content: `Message ${index}: the release notes of version ${index} name three changes.`,
}))

if (import.meta.main) {
  const wanted = process.argv.slice(2).filter((word) => !word.startsWith('--'))
  const isShort = process.argv.includes('--short')
  const unknown = wanted.find((name) => !Object.hasOwn(operations, name))
  if (unknown !== undefined) {
    throw new Error(`No operation '${unknown}'; known: ${Object.keys(operations).join(', ')}.`)
  }
  instrument()
  for (const name of wanted.length > 0 ? wanted : Object.keys(operations)) {
    const text = report(await walk(name), isShort)
    // A pipe takes a long text in pieces: wait for the last one.
    await new Promise((resolve) => process.stdout.write(text, resolve))
  }
  process.exit(0)
}

/** Runs an operation until its caches are warm, then once more under coverage. */
async function walk(operation: string): Promise<Walk> {
  const { run, close } = await (operations[operation] as (typeof operations)[string])()
  for (let warm = 0; warm < 3; warm++) await run()
  // Indexing is no part of an operation.
  await new Promise((resolve) => setTimeout(resolve, indexedMs))
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await session.post('Profiler.takePreciseCoverage')
  order = new Set()
  await run()
  const entered = [...order].map((index) => places[index] as Place)
  order = undefined
  const { result } = await session.post('Profiler.takePreciseCoverage')
  await session.post('Profiler.stopPreciseCoverage')
  session.disconnect()
  await close()
  const calls = new Map<string, number>()
  for (const { url, functions } of result) {
    const file = sourceFile(url)
    if (file === undefined) continue
    for (const { functionName, ranges } of functions) {
      const count = ranges[0]?.count ?? 0
      if (functionName === '' || count === 0) continue
      const key = `${file} ${functionName}`
      calls.set(key, (calls.get(key) ?? 0) + count)
    }
  }
  return { operation, entered: entered.filter(({ name }) => name !== ''), calls }
}

function report({ operation, entered, calls }: Walk, isShort: boolean): string {
  const files = new Set(entered.map(({ file }) => file))
  const covered = new Set([...calls.keys()].map((key) => key.split(' ')[0] as string))
  const missing = [...covered].filter((file) => !files.has(file))
  if (missing.length > 0) throw new Error(`Covered, but not in order: ${missing.join(', ')}`)
  const total = [...calls.values()].reduce((sum, count) => sum + count, 0)
  const head = `${operation}: ${files.size} files, ${calls.size} functions with a name, ${total} calls\n`
  return isShort ? head : head + linesOf(entered, calls).join('')
}

/** Each function at its first entry, below its file. */
function linesOf(entered: Walk['entered'], calls: Walk['calls']): readonly string[] {
  const seen = new Set<string>()
  let current = ''
  return entered.flatMap(({ file, name }) => {
    const key = `${file} ${name}`
    if (seen.has(key)) return []
    seen.add(key)
    const heading = file === current ? [] : [`  ${file}\n`]
    current = file
    const count = calls.get(key) ?? 1
    return [...heading, `      ${name}${count > 1 ? ` (${count})` : ''}\n`]
  })
}

/** A path below the repository for a module of a package's source; undefined for anything else. */
function sourceFile(url: string): string | undefined {
  if (!url.startsWith('file:')) return undefined
  const file = relative(root, fileURLToPath(url))
  return /^packages\/\w+\/src\//.test(file) ? file : undefined
}

/** Loads the packages from their sources, with a note at the beginning of each function. */
function instrument(): void {
  Object.assign(globalThis, { __walk: (index: number) => order?.add(index) })
  registerHooks({
    resolve(specifier, context, next) {
      const found = /^(oriel|@oriel\/gateway)(?:\/([\w-]+))?$/.exec(specifier)
      if (found === null) return next(specifier, context)
      const [, name = '', part] = found
      const source = join(root, 'packages', name.replace('@oriel/', ''), 'src')
      return next(pathToFileURL(join(source, part ?? '', 'index.ts')).href, context)
    },
    load(url, context, next) {
      const file = sourceFile(url)
      if (file === undefined || !url.endsWith('.ts')) return next(url, context)
      const { source } = next(url, { ...context, format: 'module-typescript' })
      const text = stripTypeScriptTypes(String(source), { mode: 'strip' })
      return { format: 'module', source: withNotes(file, text), shortCircuit: true }
    },
  })
}

/** A node of the syntax tree, as far as this script looks. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [key: string]: unknown
}

function withNotes(file: string, text: string): string {
  const inserts: { readonly at: number; readonly text: string }[] = []
  const visit = (node: Node, name: string): void => {
    if (/^(FunctionDeclaration|FunctionExpression|ArrowFunctionExpression)$/.test(node.type)) {
      const body = node.body as Node
      const own = (node.id as Node | null)?.name
      const index = places.push({ file, name: typeof own === 'string' ? own : name }) - 1
      if (body.type === 'BlockStatement') {
        inserts.push({ at: body.start + 1, text: `__walk(${index});` })
      } else {
        inserts.push({ at: body.start, text: `(__walk(${index}),` }, { at: body.end, text: ')' })
      }
    }
    for (const [key, value] of Object.entries(node)) {
      const children = Array.isArray(value) ? value : [value]
      for (const child of children) if (isNode(child)) visit(child, nameOf(node, key))
    }
  }
  visit(parseAst(text) as unknown as Node, '')
  // An expression in brackets ends behind its bracket in the text, and before it in the tree.
  inserts.sort((one, other) => other.at - one.at)
  return inserts.reduce((all, { at, text: note }) => all.slice(0, at) + note + all.slice(at), text)
}

/** The name that JavaScript gives a function which stands here. */
function nameOf(node: Node, key: string): string {
  const names: Readonly<Record<string, string>> = {
    MethodDefinition: 'key',
    PropertyDefinition: 'key',
    Property: 'key',
    VariableDeclarator: 'id',
    AssignmentExpression: 'left',
  }
  const field = names[node.type]
  if (field === undefined || (key !== 'value' && key !== 'init' && key !== 'right')) return ''
  const target = node[field] as Node
  const name = target.name ?? target.value
  if (typeof name !== 'string') return ''
  if (target.type === 'PrivateIdentifier') return `#${name}`
  if (node.kind === 'constructor') return ''
  return node.kind === 'get' || node.kind === 'set' ? `${node.kind} ${name}` : name
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value
}

/** A gateway over HTTP in front of a scripted upstream; one streamed chat completion that resends its history. */
async function managedCall() {
  const { createGateway, serveGateway } = await load('packages/gateway/src/index.ts')
  const { sqliteStore } = await load('packages/oriel/src/index.ts')
  const folder = mkdtempSync(join(tmpdir(), 'oriel-walk-'))
  const upstream = createServer((request, response) => {
    const chunk = (delta: object, finish: string | null) =>
      `data: ${JSON.stringify({
        id: 'c1',
        object: 'chat.completion.chunk',
        model: 'm',
        choices: [{ index: 0, delta, finish_reason: finish }],
      })}\n\n`
    request.resume().on('end', () => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(chunk({ role: 'assistant', content: 'Done' }, null))
      response.end(`${chunk({ content: '.' }, 'stop')}data: [DONE]\n\n`)
    })
  })
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  const baseUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`
  const gateway = createGateway({
    store: sqliteStore(join(folder, 'oriel.db')),
    upstreams: [{ name: 'local', baseUrl }],
  })
  const server = await serveGateway(gateway, { port: 0 })
  const history = [...messages]
  return {
    run: async () => {
      const answer = await fetch(`http://127.0.0.1:${server.port}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'm', stream: true, messages: history }),
      })
      const text = await answer.text()
      if (!text.includes('[DONE]')) throw new Error(`The call failed: ${answer.status} ${text}`)
      history.push(
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: `Go on with ${history.length}.` },
      )
    },
    close: async () => {
      await server.close()
      upstream.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** A thread in SQLite with the default policy, shown for OpenAI's chat completions. */
async function threadView() {
  const { openThread, sqliteStore } = await load('packages/oriel/src/index.ts')
  const folder = mkdtempSync(join(tmpdir(), 'oriel-walk-'))
  const store = sqliteStore(join(folder, 'oriel.db'))
  const thread = await openThread({ store, id: 'walk' })
  await thread.append(messages)
  return {
    run: () => thread.view({ format: 'openai-chat' }),
    close: async () => {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

async function projectHistory() {
  const { project } = await load('packages/oriel/src/index.ts')
  return {
    run: async () => project(messages, 'recommended', { format: 'openai-chat' }),
    close: async () => {},
  }
}

// biome-ignore lint/suspicious/noExplicitAny: modules that are loaded after the hook have no type here.
function load(file: string): Promise<any> {
  return import(pathToFileURL(join(root, file)).href)
}
