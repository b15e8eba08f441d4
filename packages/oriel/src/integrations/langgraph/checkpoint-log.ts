// The log of one LangGraph thread: checkpoints and pending writes as entries, and the fold of them.

import { createHash, randomUUID } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import type { Entry, EntryId } from '../../core/log/entry.ts'
import { assert, OrielError } from '../../core/log/errors.ts'
import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import type { Store, ThreadKey } from '../../stores/store.ts'
import { Queue } from '../../thread/queue.ts'
import { Packing } from './packing.ts'
import { type Reference, type ValueNode, ValueTable } from './value-table.ts'

/** A serialized value: JSON by its reference; of other types, their bytes as text. */
export type Saved = Reference | readonly [type: string, base64: Reference]

/** One checkpoint, as the fold has it. */
export interface SavedCheckpoint {
  readonly ns: string
  readonly id: string
  readonly parent: string | undefined
  /** Everything of it but its id and the values of its channels. */
  readonly head: JsonObject
  readonly metadata: Saved
  /** The channels that have a value. */
  readonly values: Readonly<Record<string, Saved>>
}

/** What one task wrote while a checkpoint was the newest. */
export interface SavedWrite {
  readonly task: string
  readonly index: number
  readonly channel: string
  readonly value: Saved
}

/** The id of a checkpoint where the log names it first; after that its number, counted from 0 in the order of first mention. */
type CheckpointName = number | string

/** What stands in the log for a checkpoint. */
interface CheckpointFact {
  readonly type: 'checkpoint'
  readonly ns: string
  readonly checkpoint: CheckpointName
  readonly parent?: CheckpointName
  /** What differs from the parent's. */
  readonly head: JsonObject
  readonly metadata: Saved
  /** Values that differ from the parent's. */
  readonly values: Readonly<Record<string, Saved>>
  /** Channels that have no value any more. @default none */
  readonly gone?: readonly string[]
}

/** What stands in the log for the writes of one task. */
interface WritesFact {
  readonly type: 'writes'
  readonly ns: string
  readonly checkpoint: CheckpointName
  readonly task: string
  readonly writes: readonly (readonly [index: number, channel: string, value: Saved])[]
}

/** Facts that were appended together, with the parts of values that the log did not have before. */
interface Stored {
  readonly facts: readonly (CheckpointFact | WritesFact)[]
  readonly nodes: readonly ValueNode[]
}

/** An entry of the log: facts, packed. */
interface LogEntry {
  readonly type: 'langgraph'
  readonly id: EntryId
  readonly seq: number
  readonly at: number
  readonly form: typeof packedForm
  readonly packed: string
}

/** Version of what is packed. */
const packedForm = 2

/** What there is to say. */
export type Fact =
  | ({ readonly type: 'checkpoint' } & SavedCheckpoint)
  | {
      readonly type: 'writes'
      readonly ns: string
      readonly checkpoint: string
      readonly task: string
      readonly writes: readonly SavedWrite[]
    }

/** A fact that waits to be appended. */
interface Waiting {
  readonly make: () => Fact | undefined
  readonly at: number
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** How often an append is tried again when other processes append first. */
const maxAttempts = 20

/** The most facts of one entry, and the characters of new values after which it takes no more: packing blocks the event loop. */
const maxFactsTogether = 32
const maxCharactersTogether = 256 * 1024

/** Contracts: one writer at a time in this process, optimistic concurrency with others; reads see every append that resolved before. */
export class CheckpointLog {
  readonly table = new ValueTable()
  readonly #packing = new Packing()
  readonly #store: Store
  readonly #key: ThreadKey
  readonly #queue = new Queue()
  #waiting: readonly Waiting[] = []
  /** By namespace, then id. */
  readonly #checkpoints = new Map<string, Map<string, SavedCheckpoint>>()
  /** The ids that the log names, by number, and their numbers. */
  readonly #ids: string[] = []
  readonly #numbers = new Map<string, number>()
  /** By namespace and checkpoint, then task and index. */
  readonly #writes = new Map<string, Map<string, SavedWrite>>()
  #version = 0

  constructor(store: Store, key: ThreadKey) {
    this.#store = store
    this.#key = key
  }

  /** Runs `work` with the newest state, one after the other. */
  exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      await this.#catchUp()
      return work()
    })
  }

  namespaces(): readonly string[] {
    return [...this.#checkpoints.keys()]
  }

  /** The checkpoints of a namespace, the newest first: their ids sort by time. */
  checkpoints(ns: string): readonly SavedCheckpoint[] {
    const found = [...(this.#checkpoints.get(ns)?.values() ?? [])]
    return found.sort((a, b) => (a.id < b.id ? 1 : -1))
  }

  checkpoint(ns: string, id: string): SavedCheckpoint | undefined {
    return this.#checkpoints.get(ns)?.get(id)
  }

  writes(ns: string, checkpoint: string): readonly SavedWrite[] {
    return [...(this.#writes.get(placeOf(ns, checkpoint))?.values() ?? [])]
  }

  /**
   * Appends what `make` finds to say about the newest state; undefined says nothing. It is asked again where another process appended first.
   * What comes while the log is busy is one entry (group commit): what a step wrote and the checkpoint after it are saved at once.
   */
  append(make: () => Fact | undefined, at: number): Promise<void> {
    const done = new Promise<void>((resolve, reject) => {
      this.#waiting = [...this.#waiting, { make, at, resolve, reject }]
    })
    void this.#queue
      .run(async () => {
        if (this.#waiting.length === 0) return
        // A graph saves what a step wrote and then the checkpoint in the same turn of the event loop.
        await setImmediate()
        await this.#catchUp()
        await this.#appendWaiting()
      })
      .catch((error) => this.#settle(1, error))
    return done
  }

  async #appendWaiting(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const known = this.table.size
      let count = this.#waiting.length
      try {
        const next = this.#together(known)
        count = next.count
        if (next.facts.length > 0) await this.#appendTogether(next.facts, known)
        return this.#settle(count)
      } catch (error) {
        this.table.truncate(known)
        if (!OrielError.is(error, 'version-conflict') || attempt === maxAttempts) {
          return this.#settle(count, error)
        }
      }
      await this.#catchUp()
    }
  }

  async #appendTogether(facts: Stored['facts'], known: number): Promise<void> {
    const seq = this.#version + 1
    const stored: Stored = { facts, nodes: this.table.since(known) }
    const text = JSON.stringify(stored)
    const entry: LogEntry = {
      type: 'langgraph',
      id: `c${seq.toString(36)}` as EntryId,
      seq,
      at: this.#waiting[0]?.at ?? 0,
      form: packedForm,
      packed: this.#packing.pack(text),
    }
    // The store keeps entries of every type.
    await this.#store.append(this.#key, [entry as unknown as Entry], seq - 1)
    this.#packing.learn(text)
    this.#apply(stored, seq)
  }

  /** The facts of the next entry, and how many of those that wait have been asked. None builds on another: a checkpoint is the last. */
  #together(known: number): { readonly facts: Stored['facts']; readonly count: number } {
    const facts: (CheckpointFact | WritesFact)[] = []
    const tasks = new Set<string>()
    for (const [index, { make }] of this.#waiting.entries()) {
      if (facts.length === maxFactsTogether) return { facts, count: index }
      const fact = make()
      if (fact === undefined) continue
      if (fact.type === 'checkpoint') {
        return { facts: [...facts, this.#toStore(fact)], count: index + 1 }
      }
      const task = JSON.stringify([fact.ns, fact.checkpoint, fact.task])
      if (tasks.has(task)) return { facts, count: index }
      tasks.add(task)
      facts.push(this.#toStore(fact))
      if (this.table.charactersSince(known) > maxCharactersTogether) {
        return { facts, count: index + 1 }
      }
    }
    return { facts, count: this.#waiting.length }
  }

  /** Answers the first `count` of those that wait. */
  #settle(count: number, error?: unknown): void {
    const settled = this.#waiting.slice(0, count)
    this.#waiting = this.#waiting.slice(count)
    for (const { resolve, reject } of settled) error === undefined ? resolve() : reject(error)
  }

  async #catchUp(): Promise<void> {
    const info = await this.#store.info(this.#key)
    if (info === undefined || info.version <= this.#version) return
    for await (const entry of this.#store.read(this.#key, { from: this.#version + 1 })) {
      // Only this class writes to the log.
      const { seq, form, packed } = entry as unknown as LogEntry
      if (form !== packedForm) {
        const message = `Entry ${seq} of a checkpointer's log has the form ${form}, this version reads ${packedForm}. Use the version that wrote it.`
        throw new OrielError('schema-version', message)
      }
      const text = this.#packing.unpack(packed)
      const stored = JSON.parse(text) as Stored
      this.#packing.learn(text)
      this.table.add(stored.nodes)
      this.#apply(stored, seq)
    }
  }

  #toStore(fact: Fact): CheckpointFact | WritesFact {
    const { ns } = fact
    const nameOf = (id: string): CheckpointName => this.#numbers.get(id) ?? id
    if (fact.type === 'writes') {
      const writes = fact.writes.map(
        ({ index, channel, value }) => [index, channel, value] as const,
      )
      const checkpoint = nameOf(fact.checkpoint)
      return { type: 'writes', ns, checkpoint, task: fact.task, writes }
    }
    const { id, parent, head, metadata, values } = fact
    const before = parent === undefined ? undefined : this.checkpoint(ns, parent)
    const same = before?.values ?? {}
    const isChanged = ([channel, value]: readonly [string, Saved]): boolean =>
      !Object.hasOwn(same, channel) || JSON.stringify(same[channel]) !== JSON.stringify(value)
    const gone = Object.keys(same).filter((channel) => !Object.hasOwn(values, channel))
    return {
      type: 'checkpoint',
      ns,
      checkpoint: nameOf(id),
      ...(parent === undefined ? {} : { parent: nameOf(parent) }),
      head: difference(before?.head ?? {}, head),
      metadata,
      values: Object.fromEntries(Object.entries(values).filter(isChanged)),
      ...(gone.length === 0 ? {} : { gone }),
    }
  }

  #apply({ facts }: Stored, seq: number): void {
    this.#version = seq
    for (const fact of facts) {
      if (fact.type === 'checkpoint') this.#applyCheckpoint(fact)
      else this.#applyWrites(fact)
    }
  }

  #applyCheckpoint(fact: CheckpointFact): void {
    const { ns, metadata, gone = [] } = fact
    const id = this.#idOf(fact.checkpoint)
    const parent = fact.parent === undefined ? undefined : this.#idOf(fact.parent)
    const before = parent === undefined ? undefined : this.checkpoint(ns, parent)
    const values = Object.fromEntries(
      Object.entries({ ...before?.values, ...fact.values }).filter(
        ([channel]) => !gone.includes(channel),
      ),
    )
    const head = withDifference(before?.head ?? {}, fact.head)
    const own = this.#checkpoints.get(ns) ?? new Map<string, SavedCheckpoint>()
    this.#checkpoints.set(ns, own.set(id, { ns, id, parent, head, metadata, values }))
  }

  #applyWrites(fact: WritesFact): void {
    const { ns, task } = fact
    const place = placeOf(ns, this.#idOf(fact.checkpoint))
    const own = this.#writes.get(place) ?? new Map<string, SavedWrite>()
    for (const [index, channel, value] of fact.writes) {
      own.set(writeKey({ task, index }), { task, index, channel, value })
    }
    this.#writes.set(place, own)
  }

  /** The id that a name stands for; one that is new gets the next number. */
  #idOf(name: CheckpointName): string {
    if (typeof name === 'string') {
      if (!this.#numbers.has(name)) this.#numbers.set(name, this.#ids.push(name) - 1)
      return name
    }
    const id = this.#ids[name]
    assert(id !== undefined, 'a number names an id that the log has')
    return id
  }
}

export function writeKey({ task, index }: Pick<SavedWrite, 'task' | 'index'>): string {
  return JSON.stringify([task, index])
}

function placeOf(ns: string, checkpoint: string): string {
  return JSON.stringify([ns, checkpoint])
}

/**
 * The fields that differ, those of objects in them likewise. Null says that a field is gone; null itself, and a list, stand in a list of one.
 */
function difference(before: JsonObject, after: JsonObject): JsonObject {
  const changed = Object.entries(after).flatMap(([key, value]): [string, Json][] => {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (isObject(old) && isObject(value)) {
      const inner = difference(old as JsonObject, value as JsonObject)
      return Object.keys(inner).length === 0 ? [] : [[key, inner]]
    }
    if (old !== undefined && JSON.stringify(old) === JSON.stringify(value)) return []
    if (isObject(value)) return [[key, difference({}, value as JsonObject)]]
    return [[key, value === null || Array.isArray(value) ? [value as Json] : (value as Json)]]
  })
  const gone = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
  return Object.fromEntries([...gone.map((key): [string, Json] => [key, null]), ...changed])
}

function withDifference(before: JsonObject, changes: JsonObject): JsonObject {
  const fields = new Map(Object.entries(before))
  for (const [key, change] of Object.entries(changes)) {
    const old = fields.get(key)
    if (change === null) fields.delete(key)
    else if (Array.isArray(change)) fields.set(key, change[0] as Json)
    else if (!isObject(change)) fields.set(key, change as Json)
    else
      fields.set(
        key,
        withDifference(isObject(old) ? (old as JsonObject) : {}, change as JsonObject),
      )
  }
  return Object.fromEntries(fields) as JsonObject
}

/** The most logs that stay open for one checkpointer. */
const maxOpenLogs = 64

/**
 * Which log belongs to which thread. A log that is deleted is erased for good, so that a thread of the same id gets a new one: the store's
 * values say which.
 */
export class CheckpointLogs {
  readonly #store: Store
  readonly #tenant: string
  readonly #open = new Map<string, CheckpointLog>()

  constructor(store: Store, tenant: string) {
    this.#store = store
    this.#tenant = tenant
  }

  /** The log of a thread, or undefined where it has none. */
  async find(threadId: string): Promise<CheckpointLog | undefined> {
    const value = await this.#values.get(this.#valueKey(threadId))
    return value === undefined ? undefined : this.#at(logIn(value))
  }

  async findOrCreate(threadId: string): Promise<CheckpointLog> {
    const name = `langgraph-${randomUUID()}`
    const value = await this.#values.update(
      this.#valueKey(threadId),
      (before) => before ?? { thread: threadId, log: name },
    )
    return this.#at(logIn(value))
  }

  async erase(threadId: string): Promise<void> {
    const key = this.#valueKey(threadId)
    const value = await this.#values.get(key)
    if (value === undefined) return
    const log = logIn(value)
    await this.#store.erase({ tenant: this.#tenant, thread: log })
    await this.#values.put(key, undefined)
    this.#open.delete(log)
  }

  async *threadIds(): AsyncGenerator<string> {
    for (let after = ''; ; ) {
      const page = await this.#values.list({ tenant: this.#tenant, space }, { after, limit: 100 })
      for (const { name, value } of page) {
        after = name
        if (isObject(value) && typeof value.thread === 'string') yield value.thread
      }
      if (page.length < 100) return
    }
  }

  get #values(): NonNullable<Store['values']> {
    const { values } = this.#store
    if (values !== undefined) return values
    throw new OrielError(
      'invalid-option',
      'This store keeps no values. Use a store of createStore, such as sqliteStore.',
      { path: 'store' },
    )
  }

  /** By its hash, since ids of threads may be longer than names. */
  #valueKey(threadId: string): { tenant: string; space: string; name: string } {
    const name = createHash('sha256').update(threadId).digest('hex')
    return { tenant: this.#tenant, space, name }
  }

  #at(name: string): CheckpointLog {
    const key = { tenant: this.#tenant, thread: name }
    const log = this.#open.get(name) ?? new CheckpointLog(this.#store, key)
    // Used last, so that the one that was not used for longest is the first.
    this.#open.delete(name)
    this.#open.set(name, log)
    const [oldest] = this.#open.keys()
    if (this.#open.size > maxOpenLogs && oldest !== undefined) this.#open.delete(oldest)
    return log
  }
}

const space = 'langgraph-threads'

function logIn(value: Json | undefined): string {
  if (isObject(value) && typeof value.log === 'string') return value.log
  throw new OrielError('corrupt-entry', 'The store has no log for this LangGraph thread.')
}
