// The log of one LangGraph thread: checkpoints and pending writes as entries, and the fold of them.

import { createHash, randomUUID } from 'node:crypto'
import type { Entry, EntryId } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
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

/** What stands in the log for a checkpoint. */
interface CheckpointFact {
  readonly type: 'checkpoint'
  readonly ns: string
  readonly checkpoint: string
  /** The parent's position in this log; its id where the log does not have it. */
  readonly parent?: number | string
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
  /** The checkpoint's position in this log; its id where the log does not have it. */
  readonly checkpoint: number | string
  readonly task: string
  readonly writes: readonly (readonly [index: number, channel: string, value: Saved])[]
}

/** A fact with the parts of values that the log did not have before. */
type Stored = (CheckpointFact | WritesFact) & { readonly nodes: readonly ValueNode[] }

/** An entry of the log: a fact, packed. */
interface LogEntry {
  readonly type: 'langgraph'
  readonly id: EntryId
  readonly seq: number
  readonly at: number
  readonly form: typeof packedForm
  readonly packed: string
}

/** Version of what is packed. */
const packedForm = 1

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

/** How often an append is tried again when other processes append first. */
const maxAttempts = 20

/** Contracts: one writer at a time in this process, optimistic concurrency with others; reads see every append that resolved before. */
export class CheckpointLog {
  readonly table = new ValueTable()
  readonly #packing = new Packing()
  readonly #store: Store
  readonly #key: ThreadKey
  readonly #queue = new Queue()
  /** By namespace, then id. */
  readonly #checkpoints = new Map<string, Map<string, SavedCheckpoint>>()
  /** Where each checkpoint stands in the log, by namespace and id, and which one stands there. */
  readonly #positions = new Map<string, number>()
  readonly #ids = new Map<number, string>()
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
   * Appends what `make` finds to say about the newest state; undefined says nothing. Within `exclusive` only. It is asked again where another
   * process appended first.
   */
  async append(make: () => Fact | undefined, at: number): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const known = this.table.size
      const fact = make()
      if (fact === undefined) return
      const seq = this.#version + 1
      const stored: Stored = { ...this.#toStore(fact), nodes: this.table.since(known) }
      const text = JSON.stringify(stored)
      const entry: LogEntry = {
        type: 'langgraph',
        id: `c${seq.toString(36)}` as EntryId,
        seq,
        at,
        form: packedForm,
        packed: this.#packing.pack(text),
      }
      try {
        // The store keeps entries of every type.
        await this.#store.append(this.#key, [entry as unknown as Entry], seq - 1)
      } catch (error) {
        this.table.truncate(known)
        if (!OrielError.is(error, 'version-conflict') || attempt === maxAttempts) throw error
        await this.#catchUp()
        continue
      }
      this.#packing.learn(text)
      this.#apply(stored, seq)
      return
    }
  }

  async #catchUp(): Promise<void> {
    const info = await this.#store.info(this.#key)
    if (info === undefined || info.version <= this.#version) return
    for await (const entry of this.#store.read(this.#key, { from: this.#version + 1 })) {
      // Only this class writes to the log.
      const { seq, form, packed } = entry as unknown as LogEntry
      if (form !== packedForm) {
        const message = `A newer version wrote checkpoint ${seq}: it has the form ${form}.`
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
    const position = (id: string): number | string => this.#positions.get(placeOf(ns, id)) ?? id
    if (fact.type === 'writes') {
      const writes = fact.writes.map(
        ({ index, channel, value }) => [index, channel, value] as const,
      )
      const checkpoint = position(fact.checkpoint)
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
      checkpoint: id,
      ...(parent === undefined ? {} : { parent: position(parent) }),
      head: difference(before?.head ?? {}, head),
      metadata,
      values: Object.fromEntries(Object.entries(values).filter(isChanged)),
      ...(gone.length === 0 ? {} : { gone }),
    }
  }

  #apply(fact: CheckpointFact | WritesFact, seq: number): void {
    this.#version = seq
    const { ns } = fact
    const idOf = (place: number | string): string =>
      typeof place === 'string' ? place : (this.#ids.get(place) ?? '')
    if (fact.type === 'checkpoint') {
      const { checkpoint: id, metadata, gone = [] } = fact
      const parent = fact.parent === undefined ? undefined : idOf(fact.parent)
      const before = parent === undefined ? undefined : this.checkpoint(ns, parent)
      const values = Object.fromEntries(
        Object.entries({ ...before?.values, ...fact.values }).filter(
          ([channel]) => !gone.includes(channel),
        ),
      )
      const head = withDifference(before?.head ?? {}, fact.head)
      const own = this.#checkpoints.get(ns) ?? new Map<string, SavedCheckpoint>()
      this.#checkpoints.set(ns, own.set(id, { ns, id, parent, head, metadata, values }))
      this.#positions.set(placeOf(ns, id), seq)
      this.#ids.set(seq, id)
      return
    }
    const { task } = fact
    const place = placeOf(ns, idOf(fact.checkpoint))
    const own = this.#writes.get(place) ?? new Map<string, SavedWrite>()
    for (const [index, channel, value] of fact.writes) {
      own.set(writeKey({ task, index }), { task, index, channel, value })
    }
    this.#writes.set(place, own)
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
