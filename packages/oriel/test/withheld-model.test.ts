// Random conversations, policies and operations: no word that models may not read is in anything that a model is given. Every piece of
// content has a word of its own, and the log says who may read it. ORIEL_RUNS=10 runs ten times as many.

import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Audience,
  type Block,
  type EditEntry,
  type Entry,
  type FormatName,
  type MessageEntry,
  memoryStore,
  OrielError,
  openThread,
  type PolicyInput,
  type Summarize,
  type Thread,
} from '../src/index.ts'
import { conversationOf, policyArbitrary } from '../src/testing/index.ts'
import { scaledRuns } from './scaled-runs.ts'

const formatNames: readonly FormatName[] = [
  'openai-chat',
  'openai-responses',
  'anthropic',
  'ai-sdk',
  'langchain',
]

/** A word that the memory of facts likes to keep. */
const words = /canary_\d+_x/g

class Words {
  #count = 0
  next(): string {
    this.#count += 1
    return `canary_${this.#count}_x`
  }
}

type Seed = number

type Operation =
  | { readonly type: 'user' | 'note' | 'step' | 'say'; readonly seed: Seed }
  | {
      readonly type: 'view'
      readonly seed: Seed
      readonly budget?: number
      readonly dryRun: boolean
    }
  | { readonly type: 'policy'; readonly policy: PolicyInput | undefined }
  | {
      readonly type:
        | 'compact'
        | 'expand'
        | 'exclude'
        | 'include'
        | 'pin'
        | 'unpin'
        | 'undo'
        | 'fork'
        | 'reopen'
        | 'recover'
      readonly seed: Seed
    }

const seeds = fc.nat({ max: 2 ** 30 })

function operations(): fc.Arbitrary<Operation> {
  const talk = fc.record({
    type: fc.constantFrom('user' as const, 'note' as const, 'say' as const),
    seed: seeds,
  })
  const step = fc.record({ type: fc.constant('step' as const), seed: seeds })
  const view = fc.record(
    {
      type: fc.constant('view' as const),
      seed: seeds,
      budget: fc.integer({ min: 100, max: 3000 }),
      dryRun: fc.boolean(),
    },
    { requiredKeys: ['type', 'seed', 'dryRun'], noNullPrototype: true },
  )
  const other = fc.record({
    type: fc.constantFrom(
      ...(['compact', 'compact', 'expand', 'exclude', 'exclude', 'include', 'pin'] as const),
      ...(['unpin', 'undo', 'fork', 'reopen', 'recover'] as const),
    ),
    seed: seeds,
  })
  const policy = fc.record({ type: fc.constant('policy' as const), policy: policyArbitrary() })
  return fc.oneof(
    { weight: 4, arbitrary: talk },
    { weight: 6, arbitrary: step },
    { weight: 3, arbitrary: view },
    { weight: 5, arbitrary: other },
    { weight: 1, arbitrary: policy },
  )
}

describe('what models may not read', () => {
  it('[PR2] leaves a checkpoint in the very view that does not preserve it, where a pin brought it back', async () => {
    const run = await Run.begin(undefined)
    const policy = {
      compaction: {},
      expiry: { preserveOriginals: false, relevance: {} },
      memory: {},
    }
    const seed = 0
    await run.do({ type: 'step', seed })
    await run.do({ type: 'policy', policy })
    await run.do({ type: 'step', seed })
    await run.do({ type: 'recover', seed })
    await run.do({ type: 'pin', seed: 8 })
    for (const type of ['user', 'step', 'step', 'user', 'step'] as const)
      await run.do({ type, seed })
    await run.end()
  })

  it('[PR1] [PR2] [PR3] is in nothing that they are given, whatever is done to a thread', async () => {
    await fc.assert(
      fc.asyncProperty(
        policyArbitrary(),
        fc.array(operations(), { minLength: 5, maxLength: 40 }),
        async (policy, list) => {
          const run = await Run.begin(policy)
          for (const operation of list) await run.do(operation)
          await run.end()
        },
      ),
      { numRuns: scaledRuns(60) },
    )
  }, 120_000)

  it.each(formatNames)(
    '[PR2] [PR3] is in nothing that they are given, in conversations of %s',
    async (format) => {
      const given = fc.array(
        operations().filter(({ type }) => type !== 'user' && type !== 'note' && type !== 'step'),
        { minLength: 3, maxLength: 15 },
      )
      await fc.assert(
        fc.asyncProperty(
          policyArbitrary(),
          conversationOf(format),
          conversationOf(format),
          given,
          async (policy, first, second, list) => {
            const run = await Run.begin(policy)
            for (const part of [first, second]) {
              await run.append(
                part.map((message) => marked(message, run.words)) as object[],
                format,
              )
              for (const operation of list) await run.do(operation)
            }
            await run.end()
          },
        ),
        { numRuns: scaledRuns(12) },
      )
    },
    120_000,
  )
})

/** A foreign message with a word in each of its texts. */
function marked(value: unknown, own: Words, name = ''): unknown {
  if (Array.isArray(value)) return value.map((item) => marked(item, own, name))
  if (typeof value === 'string') {
    return ['text', 'content', 'output', 'value'].includes(name) ? `${value} ${own.next()}` : value
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, marked(item, own, key)]),
  )
}

/** A small deterministic source of choices. */
function dice(seed: Seed): Pick {
  let state = seed || 1
  return (count) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * count)
  }
}

class Run {
  readonly words = new Words()
  readonly #store = memoryStore()
  readonly #lines: string[] = []
  #thread!: Thread
  #calls = 0
  /** Words that models may not read, as the log had it after the last operation. */
  #forbidden: Forbidden = { derived: new Set(), request: new Set() }

  static async begin(policy: PolicyInput | undefined): Promise<Run> {
    const run = new Run()
    run.#thread = await run.#open('root', policy)
    return run
  }

  #open(id: string, policy?: PolicyInput): Promise<Thread> {
    return openThread({
      id,
      store: this.#store,
      snapshotEvery: 7,
      summarize: this.#summarize,
      log: (line) => this.#lines.push(line),
      verbose: true,
      ...(policy === undefined ? {} : { policy }),
    })
  }

  /** Quotes every word that it is given; of several texts at once, none. */
  readonly #summarize: Summarize = (job) => {
    const { count = 1 } = job.meta as { count?: number }
    this.#check('the summarizer', job.text)
    const quoted = [...new Set(job.text.match(words) ?? [])].slice(0, 20).join(' ')
    if (job.kind === 'checkpoint') {
      const titles = ['Goal', 'Constraints', 'Progress', 'Key decisions', 'Next steps']
      const answer = [...titles, 'Critical context'].map((title) => `## ${title}\n${quoted}`)
      return Promise.resolve(answer.join('\n'))
    }
    if (count === 1) return Promise.resolve(`Summary: ${quoted}`)
    const parts = Array.from({ length: count }, (_, at) => `=== ${at + 1} ===\nA summary.`)
    return Promise.resolve(parts.join('\n'))
  }

  async append(messages: readonly object[], format?: FormatName): Promise<void> {
    await this.#thread.append(messages, format === undefined ? {} : { format })
    await this.#look()
  }

  async do(operation: Operation): Promise<void> {
    try {
      await this.#perform(operation)
    } catch (error) {
      const allowed = ['cannot-project', 'cannot-undo', 'not-found', 'invalid-option']
      if (!OrielError.is(error) || !allowed.includes(error.code)) throw error
      this.#check('an error', error.message)
    }
    await this.#look()
  }

  /** Views, reads and expands everything once more. */
  async end(): Promise<void> {
    for (const format of formatNames)
      await this.do({ type: 'view', seed: formatNames.indexOf(format), dryRun: false })
    await this.do({ type: 'compact', seed: 1 })
    await this.do({ type: 'view', seed: 1, dryRun: false })
    for (const entry of await this.#thread.log()) {
      if (entry.type === 'message' || entry.type === 'edit') await this.#expand(entry.id)
    }
    for await (const message of this.#thread.read()) this.#check('reading', JSON.stringify(message))
    await this.#thread.settled()
    for (const line of this.#lines) expect(line).not.toMatch(words)
  }

  async #perform(operation: Operation): Promise<void> {
    const thread = this.#thread
    if (operation.type === 'policy') return thread.setPolicy(operation.policy ?? {})
    const pick = dice(operation.seed)
    switch (operation.type) {
      case 'user':
        return void (await thread.append([this.#message('user', pick)]))
      case 'note':
        return void (await thread.append([this.#note(pick)]))
      case 'say':
        return void (await thread.append([this.#message('assistant', pick)]))
      case 'step':
        return void (await thread.append(this.#step(pick)))
      case 'view': {
        const { budget, dryRun } = operation
        const format = formatNames[pick(formatNames.length)] ?? 'openai-chat'
        const fits = budget === undefined ? {} : { budget }
        const view = await thread.view({ format, dryRun, ...fits })
        await this.#look()
        this.#check('a view', JSON.stringify([view.messages, view.system, view.trace]), 'request')
        return
      }
      case 'compact':
        return void (await thread.compact())
      case 'recover': {
        const error = { status: 400, error: { code: 'context_length_exceeded' } }
        const view = await thread.recover(error)
        await this.#look()
        return this.#check('a recovery', JSON.stringify([view.messages, view.trace]), 'request')
      }
      case 'fork': {
        const { length } = await thread.log()
        this.#thread = await thread.fork(pick(length + 1))
        return
      }
      case 'reopen':
        await thread.settled()
        this.#thread = await this.#open(thread.id)
        return
      default:
        return this.#act(operation.type, pick)
    }
  }

  async #act(
    type: 'expand' | 'exclude' | 'include' | 'pin' | 'unpin' | 'undo',
    pick: Pick,
  ): Promise<void> {
    const log = await this.#thread.log()
    const wanted = type === 'undo' ? 'edit' : 'message'
    const found = log.filter((entry) => entry.type === wanted)
    const entry = found[pick(found.length)]
    if (entry === undefined) return
    if (type === 'expand') return this.#expand(entry.id, pick(2) === 0)
    if (type === 'undo') return this.#thread.undo(entry.id)
    if (type === 'pin' || type === 'unpin') {
      return this.#thread.pin(entry.id, { pinned: type === 'pin' })
    }
    return this.#thread.exclude(entry.id, { excluded: type === 'exclude' })
  }

  async #expand(id: string, inPlace = false): Promise<void> {
    const whole = await this.#thread.expand(id, { inPlace })
    this.#check('an expansion', JSON.stringify(whole))
    this.#check('a search', JSON.stringify(await this.#thread.expand(id, { query: 'canary' })))
    this.#check('a range', JSON.stringify(await this.#thread.expand(`${id} to ${id}`)))
  }

  /** Reads off the log who may read what. */
  async #look(): Promise<void> {
    this.#forbidden = forbiddenIn(await this.#thread.log())
  }

  #check(where: string, text: string, kind: keyof Forbidden = 'derived'): void {
    const leaked = [...new Set(text.match(words) ?? [])].filter((word) =>
      this.#forbidden[kind].has(word),
    )
    expect(leaked, `${where} has words that models may not read`).toEqual([])
  }

  #message(role: 'user' | 'assistant', pick: Pick): object {
    const content = Array.from({ length: 1 + pick(3) }, () => this.#piece(pick))
    return { role, content, ...audienceFrom(pick) }
  }

  #note(pick: Pick): object {
    const expiry = { after: pick(3), mode: 'remove', unit: 'turns' }
    const own = pick(2) === 0 ? { expiry } : {}
    return { ...this.#message('user', pick), origin: 'host', kind: 'note', ...own }
  }

  /** An assistant message with calls, and their results in one message or in one each. */
  #step(pick: Pick): readonly object[] {
    const ids = Array.from({ length: 1 + pick(3) }, () => `call_${++this.#calls}`)
    const name = ['search', 'bash', 'read_file'][pick(3)]
    const calls = ids.map((callId) => {
      const args = JSON.stringify({ path: `src/${this.words.next()}.ts` })
      return { type: 'tool-call', callId, name, arguments: args, ...audienceFrom(pick) }
    })
    const results = ids.map((callId) => this.#result(callId, pick))
    const said = {
      role: 'assistant',
      content: [this.#piece(pick), ...calls],
      ...audienceFrom(pick),
    }
    const isOne = pick(2) === 0
    const messages = isOne
      ? [{ role: 'tool', content: results, ...audienceFrom(pick) }]
      : results.map((result) => ({ role: 'tool', content: [result], ...audienceFrom(pick) }))
    return [said, ...messages]
  }

  #result(callId: string, pick: Pick): object {
    const isText = pick(2) === 0
    const content = isText
      ? this.#text(pick)
      : Array.from({ length: 1 + pick(3) }, () => this.#piece(pick))
    const failed = pick(4) === 0 ? { isError: true } : {}
    const life = pick(6) === 0 ? { lifetime: { steps: pick(3) } } : {}
    return { type: 'tool-result', callId, content, ...failed, ...life, ...audienceFrom(pick) }
  }

  #piece(pick: Pick): object {
    if (pick(5) === 0) {
      return {
        type: 'image',
        url: `https://example.com/${this.words.next()}.png`,
        ...audienceFrom(pick),
      }
    }
    return { type: 'text', text: this.#text(pick), ...audienceFrom(pick) }
  }

  /** A word at the start, in the middle and at the end of a text of any length. */
  #text(pick: Pick): string {
    const lines = Array.from({ length: [0, 3, 40][pick(3)] ?? 0 }, (_, n) => `line ${n} of it`)
    const half = Math.floor(lines.length / 2)
    const all = [
      this.words.next(),
      ...lines.slice(0, half),
      this.words.next(),
      ...lines.slice(half),
    ]
    return [...all, this.words.next()].join('\n')
  }
}

type Pick = (count: number) => number

function audienceFrom(pick: Pick): { readonly audience?: Audience } {
  const audiences: readonly Audience[] = [
    { now: false, later: false },
    { later: false },
    { now: false },
    { person: false },
  ]
  const audience = audiences[pick(14)]
  return audience === undefined ? {} : { audience }
}

/** Words that must not be in a text that derives from the log, and in a request that is made now. */
interface Forbidden {
  readonly derived: ReadonlySet<string>
  readonly request: ReadonlySet<string>
}

function forbiddenIn(log: readonly Entry[]): Forbidden {
  const derived = new Set<string>()
  const request = new Set<string>()
  const messages = log.filter((entry) => entry.type === 'message')
  const newest = messages.findLast(({ role }) => role === 'assistant')?.seq ?? 0
  const isExcluded = exclusionsIn(log)
  const lostOf = lossesIn(log)
  for (const message of messages) {
    for (const { word, position, isNow, isLater } of wordsIn(message)) {
      const isGone = isExcluded(message.seq) || lostOf(message, position, word)
      if (isGone || !isLater) derived.add(word)
      if (isGone || (!isLater && !(isNow && message.seq > newest))) request.add(word)
    }
  }
  return { derived, request }
}

interface Word {
  readonly word: string
  /** The block that has it. */
  readonly position: number
  readonly isNow: boolean
  readonly isLater: boolean
}

function wordsIn(message: MessageEntry): readonly Word[] {
  const found: Word[] = []
  const visit = (value: unknown, position: number, path: readonly Audience[]): void => {
    if (typeof value === 'string') {
      for (const [word] of value.matchAll(words)) {
        const isNow = path.every(({ now }) => now !== false)
        const isLater = path.every(({ later }) => later !== false)
        found.push({ word, position, isNow, isLater })
      }
      return
    }
    if (typeof value !== 'object' || value === null) return
    const { audience } = value as { readonly audience?: Audience }
    const own = audience === undefined || Array.isArray(value) ? path : [...path, audience]
    for (const item of Object.values(value)) visit(item, position, own)
  }
  const whole = message.audience === undefined ? [] : [message.audience]
  for (const [position, block] of message.blocks.entries()) visit(block, position, whole)
  return found
}

function exclusionsIn(log: readonly Entry[]): (seq: number) => boolean {
  const excluded = new Set<number>()
  for (const entry of log) {
    if (entry.type !== 'mark') continue
    if (entry.mark === 'exclude') excluded.add(entry.target)
    if (entry.mark === 'include') excluded.delete(entry.target)
  }
  return (seq) => excluded.has(seq)
}

/** Whether an edit in force did not preserve a word, and its newest form does not have it. */
function lossesIn(
  log: readonly Entry[],
): (message: MessageEntry, block: number, word: string) => boolean {
  const undone = new Set(log.flatMap((entry) => (entry.type === 'undo' ? [entry.edit] : [])))
  const live = log.filter(
    (entry): entry is EditEntry => entry.type === 'edit' && !undone.has(entry.id),
  )
  const dropped = live.flatMap(({ isFinal, target }) =>
    isFinal === true && 'ranges' in target ? target.ranges : [],
  )
  return ({ seq, blocks }, block, word) => {
    if (dropped.some(([from, to]) => seq >= from && seq <= to)) return true
    const own = live.filter(
      ({ target }) => 'seq' in target && target.seq === seq && target.block === block,
    )
    if (!own.some(({ isFinal }) => isFinal === true)) return false
    const { text = '', keepsMedia = false } = own.at(-1) ?? {}
    const shown = blocks[block]
    const media = shown?.type === 'tool-result' && keepsMedia ? mediaIn(shown.content) : ''
    return !text.includes(word) && !media.includes(word)
  }
}

function mediaIn(content: string | readonly Block[]): string {
  if (typeof content === 'string') return ''
  return JSON.stringify(content.filter(({ type }) => type !== 'text'))
}
