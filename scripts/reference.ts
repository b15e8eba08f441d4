// Writes the pages that follow from the sources: docs/api/*.md from the exports of each subpath, docs/events.md, docs/errors.md,
// docs/compatibility.md.
// `npm run reference`.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Class, type Comment, type Node, parseSync, type Statement } from 'oxc-parser'
import { errorCodes } from '../packages/oriel/src/core/log/errors.ts'
import { eventTypes } from '../packages/oriel/src/thread/events.ts'
import { compatibilityPage } from './compatibility.ts'

const root = join(import.meta.dirname, '..')
const library = join(root, 'packages/oriel')

/** Every generated page by its path from the root. */
export function referencePages(): ReadonlyMap<string, string> {
  const subpaths = publicSubpaths()
  return new Map([
    ['docs/api/README.md', contents(subpaths)],
    ...subpaths.map(({ name, page, file }) => [`docs/api/${page}`, apiPage(name, file)] as const),
    ['docs/events.md', eventsPage()],
    ['docs/errors.md', errorsPage()],
    ['docs/compatibility.md', compatibilityPage()],
  ])
}

/** The generated pages that exist, for pages that are no longer made. */
export function writtenPages(): readonly string[] {
  return readdirSync(join(root, 'docs/api')).map((name) => `docs/api/${name}`)
}

interface Subpath {
  /** As it is imported: `oriel/compat`. */
  readonly name: string
  readonly page: string
  /** The source of its exports. */
  readonly file: string
}

/** The subpaths of package.json, without what only our own packages use. */
function publicSubpaths(): readonly Subpath[] {
  const { exports } = JSON.parse(readFileSync(join(library, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { readonly types: string }>
  }
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string' || path === './internal') return []
    const short = path === '.' ? 'oriel' : path.slice('./'.length)
    const file = target.types.replace('./dist/', 'src/').replace(/\.d\.ts$/, '.ts')
    return [
      {
        name: path === '.' ? 'oriel' : `oriel/${short}`,
        page: `${short}.md`,
        file: join(library, file),
      },
    ]
  })
}

function contents(subpaths: readonly Subpath[]): string {
  const rows = subpaths.map(({ name, page, file }) => {
    const names = exportsOf(file).map(({ name: own }) => own)
    return `| [\`${name}\`](${page}) | ${names.length} | ${openingOf(file)} |`
  })
  return `# API reference

Made by \`npm run reference\` from the exports of each subpath and their comments. See also [events](../events.md), [errors](../errors.md) and [every field of a policy](../policy.md).

| import | names | what it is |
|---|---:|---|
${rows.join('\n')}
`
}

function apiPage(name: string, file: string): string {
  const sections = exportsOf(file).map(section)
  return `# \`${name}\`

${openingOf(file)} Made by \`npm run reference\`.

${sections.join('\n')}`
}

function section({ name, local, file }: Exported): string {
  const { text, comments, declarations } = declared(file, local)
  const [first] = declarations
  if (first === undefined) throw new Error(`${file} does not declare ${local}.`)
  const doc = docBefore(text, comments, first.start)
  const code = declarations.map(({ node }) => signature(text, node)).join('\n')
  const parts = [`## ${name}`, ...(doc === '' ? [] : [doc]), `\`\`\`ts\n${code}\n\`\`\``]
  return `${parts.join('\n\n')}\n`
}

interface Declared {
  readonly text: string
  readonly comments: readonly Comment[]
  /** One, or the overloads of a function. */
  readonly declarations: readonly { readonly node: Node; readonly start: number }[]
}

/** The declaration of an exported name, wherever it is exported from. */
function declared(file: string, name: string): Declared {
  const { text, body, comments } = parsed(file)
  const declarations = body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration === null) return []
    const { declaration, start } = statement
    return namesIn(declaration).includes(name) ? [{ node: declaration as Node, start }] : []
  })
  const overloads = declarations.filter(({ node }) => node.type === 'TSDeclareFunction')
  if (declarations.length > 0) {
    return { text, comments, declarations: overloads.length > 0 ? overloads : declarations }
  }
  const passed = [...exportsOf(file), ...importsOf(file)].find(
    (one) => one.name === name && one.file !== file,
  )
  if (passed !== undefined) return declared(passed.file, passed.local)
  const own = body.filter((statement) => namesIn(statement as Node).includes(name))
  const local = own.map((node) => ({ node: node as Node, start: node.start }))
  return { text, comments, declarations: local }
}

/** What a file imports from its neighbours. */
function importsOf(file: string): readonly Exported[] {
  return parsed(file).body.flatMap((statement): readonly Exported[] => {
    if (statement.type !== 'ImportDeclaration' || !statement.source.value.startsWith('.')) return []
    const from = join(dirname(file), statement.source.value)
    return statement.specifiers.flatMap((one) => {
      if (one.type !== 'ImportSpecifier' || !('name' in one.imported)) return []
      return [{ name: one.local.name, local: one.imported.name, file: from }]
    })
  })
}

interface Exported {
  readonly name: string
  /** What it is called in `file`. */
  readonly local: string
  readonly file: string
}

/** What a file exports, in its order. */
function exportsOf(file: string): readonly Exported[] {
  return parsed(file).body.flatMap((statement): readonly Exported[] => {
    if (statement.type !== 'ExportNamedDeclaration') return []
    if (statement.declaration !== null) {
      const names = [...new Set(namesIn(statement.declaration))]
      return names.map((name) => ({ name, local: name, file }))
    }
    const from = statement.source === null ? file : join(dirname(file), statement.source.value)
    return statement.specifiers.flatMap(({ local, exported }) => {
      if (!('name' in local && 'name' in exported)) return []
      return [{ name: exported.name, local: local.name, file: from }]
    })
  })
}

function namesIn(declaration: Node): readonly string[] {
  if (declaration.type === 'VariableDeclaration') {
    return declaration.declarations.flatMap(({ id }) => ('name' in id ? [id.name] : []))
  }
  const { id } = declaration as { readonly id?: { readonly name?: string } | null }
  return id?.name === undefined ? [] : [id.name]
}

/** A declaration without its implementation. */
function signature(text: string, node: Node): string {
  switch (node.type) {
    case 'FunctionDeclaration':
      return text.slice(node.start, node.body?.start ?? node.end).trim()
    case 'ClassDeclaration':
      return classSignature(text, node)
    case 'VariableDeclaration':
      return constSignature(text, node)
    default:
      return text.slice(node.start, node.end).trim()
  }
}

/** The public members of a class. */
function classSignature(text: string, node: Class): string {
  const { comments } = parsedText(text)
  const members = node.body.body.flatMap((member) => {
    const key = 'key' in member ? member.key : undefined
    const isPrivate = key?.type === 'PrivateIdentifier'
    if (isPrivate || ('accessibility' in member && member.accessibility === 'private')) return []
    const { value } = member as { readonly value?: { readonly body?: Node | null } | null }
    const end = value?.body?.start ?? member.end
    const doc = commentBefore(text, comments, member.start)
    const own = text.slice(member.start, end).trim()
    return [`${doc === undefined ? '' : `  ${doc}\n`}  ${own}`]
  })
  const head = text.slice(node.start, node.body.start).trim()
  return `${head} {\n${members.join('\n')}\n}`
}

const longestValue = 400

function constSignature(text: string, node: Node): string {
  const whole = text.slice(node.start, node.end).trim()
  const isFunction = /=\s*(?:async\s*)?\(/.test(whole)
  if (whole.length <= longestValue && !isFunction) return whole
  return `${whole.slice(0, whole.indexOf('=')).trim()} // see the source`
}

/** The text of the comment right before a position, as Markdown. */
function docBefore(text: string, comments: readonly Comment[], start: number): string {
  const comment = commentBefore(text, comments, start)
  if (comment === undefined) return ''
  return comment
    .replace(/^\/\*\*?/, '')
    .replace(/\*\/$/, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
    .replaceAll(/@(\w+)/g, '**$1**')
}

function commentBefore(
  text: string,
  comments: readonly Comment[],
  start: number,
): string | undefined {
  const comment = comments.findLast(({ end }) => end <= start)
  if (comment?.type !== 'Block' || text.slice(comment.end, start).trim() !== '') return undefined
  return text.slice(comment.start, comment.end)
}

/** The first comment of a file: what it is for. */
function openingOf(file: string): string {
  const { text } = parsed(file)
  const lines = text.split('\n')
  const end = lines.findIndex((line) => !line.startsWith('//'))
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join(' ')
}

interface Parsed {
  readonly text: string
  readonly body: readonly Statement[]
  readonly comments: readonly Comment[]
}

const known = new Map<string, Parsed>()

function parsed(file: string): Parsed {
  const before = known.get(file)
  if (before !== undefined) return before
  const own = parsedText(readFileSync(file, 'utf8'), file)
  known.set(file, own)
  return own
}

function parsedText(text: string, file = 'a.ts'): Parsed {
  const { program, comments, errors } = parseSync(file, text)
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`)
  return { text, body: program.body as readonly Statement[], comments }
}

function eventsPage(): string {
  const rows = Object.entries(eventTypes).map(([name, when]) => `| \`${name}\` | ${when} |`)
  const { text } = parsed(join(library, 'src/thread/events.ts'))
  const fields = declared(join(library, 'src/thread/events.ts'), 'EventMessage')
  const any = /interface AnyEvent \{[\s\S]*?\n\}/.exec(text)?.[0] ?? ''
  const message = fields.declarations.map(({ node }) => signature(fields.text, node)).join('\n')
  return `# Events

Made by \`npm run reference\` from \`packages/oriel/src/thread/events.ts\`. A thread tells its host what happened: \`openThread({ on: (event) => ... })\`. Listeners cannot change the
outcome; one that throws is reported on the log line. Events carry ids and numbers. The message itself is on \`event.message\`, and is not part of the event's JSON.

| type | when |
|---|---|
${rows.join('\n')}

## Fields of every event

\`\`\`ts
${any}
\`\`\`

## The message of a message event

\`\`\`ts
${message}
\`\`\`
`
}

function errorsPage(): string {
  const rows = Object.entries(errorCodes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  return `# Errors

Made by \`npm run reference\` from \`packages/oriel/src/core/log/errors.ts\`. Every error that Oriel throws on purpose is an \`OrielError\` with a stable \`code\`, where it applies a \`path\` to the problem, and
\`details\` (ids, limits, counts; never content). Test the code, never the text: \`OrielError.is(error, 'cannot-project')\` also works when two copies of the package are loaded.

| code | meaning |
|---|---|
${rows.join('\n')}
`
}

if (import.meta.main) {
  rmSync(join(root, 'docs/api'), { recursive: true, force: true })
  mkdirSync(join(root, 'docs/api'), { recursive: true })
  for (const [path, text] of referencePages()) writeFileSync(join(root, path), text)
}
