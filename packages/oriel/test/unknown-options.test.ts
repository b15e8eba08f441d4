// No option is accepted and ignored: every function that takes options rejects a name that it does not know, an option of another
// function, and a policy's field on another level.

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Anthropic from '@anthropic-ai/sdk'
import * as fc from 'fast-check'
import OpenAI from 'openai'
import { parseSync } from 'oxc-parser'
import { describe, expect, it } from 'vitest'
import * as compat from '../src/compat/index.ts'
import {
  applyHistoryPolicy,
  defineRule,
  enrich,
  eraseOlderThan,
  eraseTenant,
  eraseThread,
  lintPolicy,
  lookupPrices,
  memoryStore,
  openThread,
  parsePolicy,
  policyFields,
  postgresStore,
  project,
  readHistory,
  resolveCounter,
  resolvePolicy,
  searchThreads,
  sqliteStore,
} from '../src/index.ts'
import { compositionIn, LogInspector, outlineOf, viewBlocks } from '../src/inspect/index.ts'
import { AgentThreads } from '../src/integrations/agents.ts'
import {
  orielMiddleware as aiSdkMiddleware,
  pruneMessages,
  withOriel,
} from '../src/integrations/ai-sdk.ts'
import { clearToolUses, managed as managedAnthropic } from '../src/integrations/anthropic.ts'
import { orielMiddleware as langchainMiddleware } from '../src/integrations/langchain.ts'
import { OrielSaver } from '../src/integrations/langgraph/index.ts'
import { orielProcessor } from '../src/integrations/mastra.ts'
import { managed } from '../src/integrations/openai.ts'
import { modelInputFilter, orielSession } from '../src/integrations/openai-agents.ts'
import { judgeAll, optimalCost, simulate, threadManager, unmanaged } from '../src/simulate/index.ts'
import { openRecording } from '../src/simulate/recording.ts'
import { createStore } from '../src/stores/index.ts'
import { MemoryBackend } from '../src/stores/memory/backend.ts'

type Options = Record<string, unknown>
const history = [{ role: 'user', content: 'hello' }]
const thread = async () => {
  const made = await openThread({ store: memoryStore() })
  await made.append(history)
  return made
}
const nothing = () => Promise.resolve()
const tooLong = new Error(
  "This model's maximum context length is 8000 tokens, you asked for 9000 tokens",
)
const marking = async (mark: 'pin' | 'exclude', options: never) => {
  const made = await thread()
  const [first] = (await made.log()).filter(({ type }) => type === 'message')
  return made[mark](first?.id ?? '', options)
}
const model = {
  specificationVersion: 'v3',
  provider: 'p',
  modelId: 'm',
  doGenerate: nothing,
  doStream: nothing,
}
const client = new OpenAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:9' })
const anthropic = new Anthropic({ apiKey: 'none', baseURL: 'http://127.0.0.1:9' })
const key = { agent: 'a' }

const threadKey = { tenant: 't', thread: 't' }
const inspector = () => new LogInspector({ store: memoryStore(), key: threadKey })
const opened = openRecording({ id: 'a', messages: history })

/** Each with options that are right, and a way to call it with those. */
const functions: readonly (readonly [
  name: string,
  right: Options,
  call: (options: never) => unknown,
])[] = [
  ['project', { budget: 500 }, (options) => project(history, {}, options)],
  ['openThread', { store: memoryStore() }, (options) => openThread(options)],
  ['append', { expected: 1 }, async (options) => (await thread()).append(history, options)],
  ['sync', {}, async (options) => (await thread()).sync(history, options)],
  ['match', {}, async (options) => (await thread()).match(history, options)],
  ['view', { dryRun: true }, async (options) => (await thread()).view(options)],
  ['request', { budget: 500 }, async (options) => (await thread()).request(history, options)],
  ['preview', {}, async (options) => (await thread()).preview(history, options)],
  ['compact', {}, async (options) => (await thread()).compact(options)],
  [
    'read',
    { from: 1 },
    async (options) => {
      for await (const _ of (await thread()).read(options)) break
    },
  ],
  ['memoryStore', {}, (options) => memoryStore(options)],
  ['sqliteStore', { writes: 'worker' }, (options) => sqliteStore('/tmp/never-opened.db', options)],
  ['postgresStore', { schema: 's' }, (options) => postgresStore('postgres://127.0.0.1/x', options)],
  ['resolvePolicy', { env: {} }, (options) => resolvePolicy(options)],
  ['applyHistoryPolicy', {}, (options) => applyHistoryPolicy(history, options)],
  ['enrich', {}, (options) => enrich({ role: 'user', content: 'x' }, [], options)],
  ['readHistory', {}, (options) => readHistory(history, options)],
  ['lookupPrices', { model: 'gpt-5' }, (options) => lookupPrices(options)],
  ['eraseThread', { store: memoryStore(), id: 't' }, (options) => eraseThread(options)],
  ['eraseTenant', { store: memoryStore(), tenant: 't' }, (options) => eraseTenant(options)],
  ['eraseOlderThan', { store: memoryStore(), maxAgeMs: 1 }, (options) => eraseOlderThan(options)],
  ['withOriel', { policy: {} }, (options) => withOriel(model, options)],
  ['orielMiddleware', { policy: {} }, (options) => aiSdkMiddleware(options)],
  ['orielMiddleware', { policy: {} }, (options) => langchainMiddleware(options)],
  ['managed', { policy: {} }, (options) => managed(client, options)],
  ['managed', { policy: {} }, (options) => managedAnthropic(anthropic, options)],
  ['simulate', { policies: [] }, (options) => simulate([], options)],
  ['judgeAll', { tokens: 'estimate' }, (options) => judgeAll([], unmanaged, options)],
  ['threadManager', { policy: {} }, (options) => threadManager(options)],
  ['search', { limit: 5 }, async (options) => (await thread()).search('hello', options)],
  ['search', {}, (options) => searchThreads(memoryStore(), 'default', 'hello', options)],
  [
    'recover',
    {},
    async (options) => {
      const made = await thread()
      const turn = [{ role: 'assistant', content: 'words '.repeat(200) }, ...history]
      await made.append([...turn, ...turn, ...turn])
      await made.recover(tooLong, options)
    },
  ],
  ['pin', { pinned: true }, (options) => marking('pin', options)],
  ['exclude', {}, (options) => marking('exclude', options)],
  ['defineRule', { name: 'own', propose: () => [] }, (options) => defineRule(options)],
  ['saveChat', {}, (options) => memoryStore().settings.saveChat(key, options)],
  ['createStore', {}, (options) => createStore(new MemoryBackend(), options)],
  [
    'read',
    { from: 1 },
    async (options) => {
      for await (const _ of memoryStore().read({ tenant: 't', thread: 't' }, options)) break
    },
  ],
  ['AgentThreads', { agent: 'a', env: {} }, (options) => new AgentThreads(options)],
  ['clearToolUses', {}, (options) => clearToolUses({ messages: history }, {}, options)],
  ['modelInputFilter', { policy: {} }, (options) => [modelInputFilter(options)]],
  ['orielProcessor', { policy: {} }, (options) => orielProcessor(options)],
  [
    'orielSession',
    { policy: {} },
    async (options: object) => orielSession({ thread: await thread(), ...options }),
  ],
  ['OrielSaver', { store: memoryStore() }, (options) => new OrielSaver(options)],
  ['pruneMessages', { messages: history }, (options) => pruneMessages(options)],
  [
    'optimalCost',
    { keep: 2 },
    (options: object) => optimalCost(opened, { counter: resolveCounter('estimate'), ...options }),
  ],
  [
    'LogInspector',
    { store: memoryStore(), key: threadKey },
    (options) => new LogInspector(options),
  ],
  ['edits', { limit: 5 }, (options) => inspector().edits(options)],
  ['timeline', { since: 1 }, (options) => inspector().timeline(options)],
  [
    'compositionIn',
    { format: 'openai-chat' },
    async (options) => compositionIn(await (await thread()).view(), options),
  ],
  ['outlineOf', { contents: [], trace: [] }, (options) => outlineOf([], options)],
  [
    'viewBlocks',
    { trace: [], format: 'openai-chat', messages: [] },
    (options) => viewBlocks([], options),
  ],
  ['list', { limit: 5 }, (options) => memoryStore().list('t', options)],
  ['newest', { limit: 5 }, (options) => memoryStore().newest?.('t', options)],
]

/** Options inside of options: what stands around them, and the path of an unknown name `x`. */
const nested: readonly (readonly [path: string, call: (x: Options) => unknown])[] = [
  ['frame', (x) => project(history, {}, { frame: x })],
  ['frame', async (x) => (await thread()).view({ frame: x })],
  ['frame', async (x) => (await thread()).request(history, { frame: x })],
  ['expand', async (x) => (await thread()).view({ expand: { tool: 't', frame: {}, ...x } })],
  ['expand.frame', async (x) => (await thread()).view({ expand: { tool: 't', frame: x } })],
  ['prices', (x) => openThread({ store: memoryStore(), prices: x })],
  ['prompts.p', (x) => openThread({ store: memoryStore(), prompts: { p: { ...prompt, ...x } } })],
  ['plugins[0]', (x) => openThread({ store: memoryStore(), plugins: [{ name: 'p', ...x }] })],
  ['plugins[0]', (x) => enrich({ role: 'user', content: 'x' }, [{ name: 'p', ...x }])],
  ['context', (x) => enrich({ role: 'user', content: 'x' }, [], { context: { ...place, ...x } })],
  ['usage', async (x) => (await thread()).append(history, { usage: { ...measured, ...x } })],
  ['key', (x) => memoryStore().settings.read({ agent: 'a', ...x })],
  ['key', (x) => memoryStore().settings.saveTool({ agent: 'a', ...x }, 't', {})],
  ['policies[0]', (x) => simulate([], { policies: [{ name: 'n', policy: {}, ...x }] })],
  ['request', (x) => resolvePolicy({ request: { header: '{}', ...x } })],
  ['stored', (x) => resolvePolicy({ stored: { tools: {}, toolDefaults: {}, ...x } })],
  ['config', (x) => compat.importCompactConfig(x)],
  ['limits', (x) => compat.importCompactConfig({}, x)],
  ['metadata', (x) => compat.importVisibility(x)],
  ['config', (x) => compat.importHistoryRetention(x)],
  ['messageExpirationOverride', (x) => compat.importExpirationOverride(x)],
  ['rows[0]', (x) => compat.importAgentActions([{ Action: 'a', ...x }])],
  [
    'messages[0].metadata',
    (x) => compat.importAgentMessages([{ role: 'user', content: 'x', metadata: x }]),
  ],
]
const prompt = { name: 'p', template: 't' }
const place = { turn: 1, step: 1 }
const measured = { sample: { input_tokens: 1 }, view: 'v' }

it.each(nested)('[OP1] an unknown name in %s is rejected with its path', async (path, call) => {
  const made = Promise.resolve().then(() => call({ 'no such name': 1 }))
  await expect(made).rejects.toMatchObject({
    code: 'invalid-option',
    path: `${path}.no such name`,
  })
})

describe.each(functions)('options of %s', (name, right, call) => {
  it('[OP1] are taken where they are right', async () => {
    await expect(Promise.resolve().then(() => call(right as never))).resolves.not.toThrow()
  })

  it('[OP1] are rejected by name where one is unknown', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 30 }), async (letters) => {
        // No option of ours has such a name.
        const unknown = `${letters} ?`
        const options = { ...right, [unknown]: undefined }
        const made = Promise.resolve().then(() => call(options as never))
        await expect(made).rejects.toMatchObject({ code: 'invalid-option', path: unknown })
        await expect(made).rejects.toThrow(`${name} has no option`)
      }),
      { numRuns: 5 },
    ))
})

describe('the table above', () => {
  const source = join(import.meta.dirname, '../src')
  const { exports: targets } = JSON.parse(
    readFileSync(join(source, '../package.json'), 'utf8'),
  ) as { readonly exports: Readonly<Record<string, string | { readonly default: string }>> }

  /** Suites for other people's tests, an interface of LangGraph's own, an error's cause, and a function that takes an environment. */
  const others = ['describeFormat', 'describeStore', 'list', 'OrielError', 'agentStorePath']

  it('[OP1] has every published function with options', async () => {
    const published = new Set<string>()
    for (const [path, target] of Object.entries(targets)) {
      if (typeof target === 'string' || path === './internal') continue
      const file = target.default.replace('./dist/', '').replace(/js$/, 'ts')
      const module = (await import(join(source, file))) as object
      for (const name of Object.keys(module)) published.add(name)
    }
    const found = globSync('**/*.ts', { cwd: source })
      .filter((file) => !file.endsWith('.test.ts'))
      .flatMap((file) => functionsWithOptions(readFileSync(join(source, file), 'utf8')))
      .filter(({ owner }) => published.has(owner))
      .map(({ name }) => name)
    const covered = new Set([...functions.map(([name]) => name), ...others])
    expect(found.length).toBeGreaterThan(30)
    expect(
      found.filter((name) => !covered.has(name === 'searchThreads' ? 'search' : name)),
    ).toEqual([])
  })
})

interface Found {
  /** What is exported: the function, or its class. */
  readonly owner: string
  readonly name: string
}

/** Exported functions, constructors and methods of a file that take an `...Options`. */
function functionsWithOptions(text: string): readonly Found[] {
  const takesOptions = ({ params }: { readonly params: readonly Node[] }): boolean =>
    params.some(({ start, end }) => /Options\b/.test(text.slice(start, end)))
  return parseSync('a.ts', text).program.body.flatMap((statement): readonly Found[] => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration == null) return []
    const { declaration } = statement
    if (declaration.type === 'FunctionDeclaration') {
      const owner = declaration.id?.name ?? ''
      return takesOptions(declaration) ? [{ owner, name: owner }] : []
    }
    if (declaration.type !== 'ClassDeclaration') return []
    const owner = declaration.id?.name ?? ''
    return declaration.body.body.flatMap((member): readonly Found[] => {
      if (member.type !== 'MethodDefinition' || member.key.type !== 'Identifier') return []
      const name = member.kind === 'constructor' ? owner : member.key.name
      return takesOptions(member.value) ? [{ owner, name }] : []
    })
  })
}

interface Node {
  readonly start: number
  readonly end: number
}

const withOption = functions.filter(([, right]) => Object.keys(right).length > 0)
it.each(withOption)('[OP1] a misspelt option of %s names the right one', async (_, right, call) => {
  const [known = ''] = Object.keys(right)
  const made = Promise.resolve().then(() => call({ ...right, [`${known}s`]: 1 } as never))
  await expect(made).rejects.toThrow(`Did you mean '${known}'?`)
})

/** Every name that some function takes, and every part of a policy. */
const otherNames = new Set([
  ...functions.flatMap(([, right]) => Object.keys(right)),
  ...policyFields.map(({ part }) => part),
  ...['plugins', 'summarize', 'override', 'ceilings', 'resentAs', 'workers', 'historyLength'],
])

describe.each(functions)('options of other functions, given to %s', (_, right, call) => {
  const errorOf = (options: Options): Promise<Error & { readonly path?: string }> =>
    Promise.resolve()
      .then(() => call(options as never))
      .then(
        () => new Error('accepted'),
        (error) => error,
      )

  it('[OP1] are rejected by name', async () => {
    const { message } = await errorOf({ ...right, 'no such name': 1 })
    const own = (/takes: (.*)\./.exec(message)?.[1] ?? '').split(', ')
    expect(own).toEqual(expect.arrayContaining(Object.keys(right)))
    for (const name of otherNames) {
      if (own.includes(name)) continue
      expect(await errorOf({ ...right, [name]: {} })).toMatchObject({ path: name })
    }
  })
})

describe("a policy's fields on another level", () => {
  /** Each field one level too high, and one level too low. */
  const misplaced = policyFields.flatMap(({ path }) => {
    const steps = path.split('.')
    const at = (places: readonly string[]): object =>
      places.reduceRight<unknown>((inner, name) => ({ [name]: inner }), 1) as object
    const higher = steps.length > 1 ? [at(steps.slice(1))] : []
    const lower = [at([...steps.slice(0, -1), 'history', ...steps.slice(-1)])]
    return [...higher, ...lower].map((policy) => [JSON.stringify(policy), policy] as const)
  })

  it.each(misplaced)('[OP1] [P2] %s is refused wherever a policy is taken', async (_, policy) => {
    const takers: readonly (() => unknown)[] = [
      () => parsePolicy(policy),
      () => lintPolicy(policy as never),
      () => project(history, policy as never),
      () => openThread({ store: memoryStore(), policy: policy as never }),
      async () => (await thread()).view({ policy: policy as never }),
      async () => (await thread()).setPolicy(policy as never),
      () => resolvePolicy({ defaults: policy as never }),
      () => resolvePolicy({ request: { body: policy } }),
      () => resolvePolicy({ agent: { policy: policy as never } }),
    ]
    for (const take of takers) {
      const made = Promise.resolve().then(take)
      await expect(made).rejects.toMatchObject({
        code: expect.stringMatching(/^invalid-(policy|setting)$/),
      })
    }
  })
})

describe('agent templates', () => {
  it.each([
    [{ chatSettings: { historyLenght: 5 } }, 'agent.chatSettings.historyLenght'],
    [{ chatSettings: { length: 5 } }, 'agent.chatSettings.length'],
    [{ chatSettings: { policy: 'all' } }, 'agent.chatSettings.policy'],
    [{ chatSettings: { history: {} } }, 'agent.chatSettings.history'],
    [{ chatsetings: {} }, 'agent.chatsetings'],
    [{ historyLenght: 5 }, 'agent.historyLenght'],
    [{ histori: {} }, 'agent.histori'],
    [{ polcy: {} }, 'agent.polcy'],
  ])('[OP1] %j is refused with its path', (agent, path) => {
    expect(() => resolvePolicy({ agent })).toThrow(
      expect.objectContaining({ code: 'invalid-option', path }),
    )
  })

  it("[OP1] fields of the application's own are left alone", () => {
    const agent = {
      agentId: 'demo',
      tools: ['search'],
      maxTokens: 500,
      chatSettings: { historyPolicy: 'lastN', initialMessages: ['Hi'], memory: true },
    }
    expect(resolvePolicy({ agent }).policy.history?.policy).toBe('lastN')
  })

  it('[C1] every setting of a template acts, a preset too', () => {
    const { policy } = resolvePolicy({ agent: { preset: 'history-window' } })
    expect(policy.history?.length).toBe(20)
    const chatSettings = { preserveSystemMessages: false }
    const own = resolvePolicy({ agent: { chatSettings } as object })
    expect(own.policy.history?.preserveSystemMessages).toBe(false)
  })
})

describe('the environment and the query string', () => {
  it.each(['ORIEL_HISTORY_LENGHT', 'ORIEL_HISTRY_POLICY', 'NEXT_PUBLIC_DEFAULT_HISTORY_LENGHT'])(
    '[C2] %s stops the start: what it should lock would stay open',
    (variable) => {
      expect(() => resolvePolicy({ env: { [variable]: '5' } })).toThrow(
        expect.objectContaining({ code: 'invalid-setting', path: variable }),
      )
    },
  )

  it('[C2] variables of others are left alone', () => {
    const env = { ORIEL_SEED: '1', ORIEL_HOME: '/x', HISTORY_LENGTH: '5', PATH: '/bin' }
    expect(resolvePolicy({ env })).toEqual({ policy: {}, sources: {}, warnings: [] })
  })

  it.each([
    ['historyLenght=5', /historyLenght is not known; did you mean historyLength/],
    ['historyLength=5&historyLength=9', /historyLength is an array/],
  ])('[C2] ?%s is ignored with a warning', (query, warning) => {
    const { policy, warnings } = resolvePolicy({ request: new URLSearchParams(query) })
    expect(policy).toEqual({})
    expect(warnings).toEqual([expect.stringMatching(warning)])
  })

  it('[C2] parameters of others are left alone', () => {
    const request = new URLSearchParams('agent=demo&debug=true&page=2&historyLength=5')
    expect(resolvePolicy({ request })).toMatchObject({ warnings: [], policy: { history: {} } })
  })
})
