// LangGraph: a checkpointer on Oriel's stores. A checkpoint is an entry that holds what is new since the others, never a copy of the state.

import type { RunnableConfig } from '@langchain/core/runnables'
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  maxChannelVersion,
  type PendingWrite,
  type SerializerProtocol,
  TASKS,
  WRITES_IDX_MAP,
} from '@langchain/langgraph-checkpoint'
import { wrongOption } from '../../core/log/errors.ts'
import type { Json, JsonObject } from '../../core/log/json.ts'
import { assertOptions, type OptionNames } from '../../core/log/options.ts'
import type { Store } from '../../stores/store.ts'
import {
  type CheckpointLog,
  CheckpointLogs,
  type Saved,
  type SavedCheckpoint,
  type SavedWrite,
  writeKey,
} from './checkpoint-log.ts'
import type { Reference } from './value-table.ts'

export interface OrielSaverOptions {
  /** Where the logs are kept: `sqliteStore`, `postgresStore`, `memoryStore` or one of your own. */
  readonly store: Store
  /** Whose logs they are. Threads of Oriel belong to another tenant, so that neither meets the other's. @default 'langgraph' */
  readonly tenant?: string
  /** How values are written. What it writes as JSON is shared between checkpoints. @default LangGraph's own */
  readonly serde?: SerializerProtocol
  /** The clock, for the time of entries. @default Date.now */
  readonly now?: () => number
}

const saverOptions: OptionNames<OrielSaverOptions> = {
  store: true,
  tenant: true,
  serde: true,
  now: true,
}

/**
 * A checkpointer for `compile({ checkpointer })` and `createAgent({ checkpointer })`.
 *
 * - A checkpoint costs what is new in it: a message is stored once, however many checkpoints hold it.
 * - It is durable when `put` resolves; processes that share the store see each other's checkpoints.
 * - `deleteThread` erases the log. A thread of the same id may begin anew.
 */
export class OrielSaver extends BaseCheckpointSaver {
  readonly #logs: CheckpointLogs
  readonly #now: () => number

  constructor(options: OrielSaverOptions) {
    assertOptions<OrielSaverOptions>(options, saverOptions, 'OrielSaver')
    const { store, tenant = 'langgraph', serde, now = Date.now } = options
    if (typeof store?.append !== 'function') throw wrongOption('store', 'a store')
    super(serde)
    this.#logs = new CheckpointLogs(store, tenant)
    this.#now = now
  }

  async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined
    const { threadId, ns, checkpointId } = placeIn(config)
    const log = await this.#logs.find(threadId)
    return log?.exclusive(async () => {
      const found =
        checkpointId === undefined ? log.checkpoints(ns)[0] : log.checkpoint(ns, checkpointId)
      return found === undefined ? undefined : this.#tuple(log, threadId, found)
    })
  }

  async *list(
    config: RunnableConfig,
    { limit = Infinity, before, filter = {} }: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { thread_id: only, checkpoint_ns: ns, checkpoint_id: id } = config.configurable ?? {}
    const threadIds = only === undefined ? this.#logs.threadIds() : [placeIn(config).threadId]
    const end: unknown = before?.configurable?.checkpoint_id
    let left = limit
    for await (const threadId of threadIds) {
      const log = await this.#logs.find(threadId)
      const found = await log?.exclusive(async () =>
        log
          .namespaces()
          .filter((name) => ns === undefined || name === ns)
          .flatMap((name) => log.checkpoints(name)),
      )
      for (const one of found ?? []) {
        if (log === undefined || left <= 0) return
        if (id !== undefined && one.id !== id) continue
        if (typeof end === 'string' && one.id >= end) continue
        const metadata = (await this.#load(log, one.metadata)) as Record<string, unknown>
        if (Object.entries(filter).some(([key, value]) => metadata[key] !== value)) continue
        left -= 1
        yield await log.exclusive(() => this.#tuple(log, threadId, one))
      }
    }
  }

  async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions?: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, ns, checkpointId: parent } = placeIn(config)
    const { channel_values: values, id, ...rest } = checkpoint
    const isNew = (channel: string): boolean =>
      newVersions === undefined || Object.hasOwn(newVersions, channel)
    const written = await Promise.all(
      Object.entries(values)
        .filter(([channel]) => isNew(channel))
        .map(async ([channel, value]) => [channel, await this.#dump(value)] as const),
    )
    const dumpedMetadata = await this.#dump(metadata)
    // Versions and times: plain data.
    const head = JSON.parse(JSON.stringify(rest)) as JsonObject
    const log = await this.#logs.findOrCreate(threadId)
    await log.append(() => {
      const before = parent === undefined ? undefined : log.checkpoint(ns, parent)
      const kept = Object.entries(before?.values ?? {}).filter(
        ([channel]) => !isNew(channel) && Object.hasOwn(rest.channel_versions, channel),
      )
      const changed = written.map(([channel, value]) => [channel, saved(log, value)] as const)
      return {
        type: 'checkpoint',
        ns,
        id,
        parent,
        head,
        metadata: saved(log, dumpedMetadata),
        values: Object.fromEntries([...kept, ...changed]),
      }
    }, this.#now())
    return configOf(threadId, ns, id)
  }

  async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const { threadId, ns, checkpointId } = placeIn(config)
    if (checkpointId === undefined) throw wrongOption('configurable.checkpoint_id', 'a text')
    const dumped = await Promise.all(
      writes.map(async ([channel, value], position) => ({
        task: taskId,
        index: WRITES_IDX_MAP[channel] ?? position,
        channel,
        value: await this.#dump(value),
      })),
    )
    const log = await this.#logs.findOrCreate(threadId)
    await log.append(() => {
      const known = new Set(log.writes(ns, checkpointId).map(writeKey))
      // A task that runs again writes the same again, except for what went wrong.
      const fresh = dumped.filter((write) => write.index < 0 || !known.has(writeKey(write)))
      if (fresh.length === 0) return undefined
      const own = fresh.map((write) => ({ ...write, value: saved(log, write.value) }))
      return { type: 'writes', ns, checkpoint: checkpointId, task: taskId, writes: own }
    }, this.#now())
  }

  deleteThread(threadId: string): Promise<void> {
    return this.#logs.erase(threadId)
  }

  async #tuple(
    log: CheckpointLog,
    threadId: string,
    found: SavedCheckpoint,
  ): Promise<CheckpointTuple> {
    const { ns, id, parent } = found
    const channels = await Promise.all(
      Object.entries(found.values).map(async ([channel, value]) => [
        channel,
        await this.#load(log, value),
      ]),
    )
    // Only checkpoints are saved as such.
    const head = structuredClone(found.head) as unknown as Omit<Checkpoint, 'channel_values' | 'id'>
    const checkpoint = { ...head, id, channel_values: Object.fromEntries(channels) }
    return {
      config: configOf(threadId, ns, id),
      checkpoint:
        checkpoint.v < 4 && parent !== undefined
          ? await this.#withPendingSends(log, { checkpoint, ns, parent })
          : checkpoint,
      metadata: (await this.#load(log, found.metadata)) as CheckpointMetadata,
      pendingWrites: await this.#pendingWrites(log, log.writes(ns, id)),
      ...(parent === undefined ? {} : { parentConfig: configOf(threadId, ns, parent) }),
    }
  }

  /** Before version 4, what a step sent to nodes was kept with the checkpoint before it. */
  async #withPendingSends(
    log: CheckpointLog,
    {
      checkpoint,
      ns,
      parent,
    }: { readonly checkpoint: Checkpoint; readonly ns: string; readonly parent: string },
  ): Promise<Checkpoint> {
    const sends = log.writes(ns, parent).filter(({ channel }) => channel === TASKS)
    const values = await Promise.all(sends.map(({ value }) => this.#load(log, value)))
    const versions = Object.values(checkpoint.channel_versions)
    const version =
      versions.length === 0 ? this.getNextVersion(undefined) : maxChannelVersion(...versions)
    return {
      ...checkpoint,
      channel_values: { ...checkpoint.channel_values, [TASKS]: values },
      channel_versions: { ...checkpoint.channel_versions, [TASKS]: version },
    }
  }

  #pendingWrites(
    log: CheckpointLog,
    writes: readonly SavedWrite[],
  ): Promise<CheckpointPendingWrite[]> {
    return Promise.all(
      writes.map(
        async ({ task, channel, value }): Promise<CheckpointPendingWrite> => [
          task,
          channel,
          await this.#load(log, value),
        ],
      ),
    )
  }

  async #dump(value: unknown): Promise<Dumped> {
    const [type, bytes] = await this.serde.dumpsTyped(value)
    if (type === 'json') return { type, json: JSON.parse(decoder.decode(bytes)) as Json }
    return { type, json: Buffer.from(bytes).toString('base64') }
  }

  async #load(log: CheckpointLog, value: Saved): Promise<unknown> {
    if (isBytes(value)) {
      const [type, reference] = value
      const bytes = Buffer.from(log.table.read(reference) as string, 'base64')
      return this.serde.loadsTyped(type, new Uint8Array(bytes))
    }
    return this.serde.loadsTyped('json', JSON.stringify(log.table.read(value)))
  }
}

function isBytes(value: Saved): value is readonly [type: string, base64: Reference] {
  return Array.isArray(value) && typeof value[0] === 'string'
}

/** A value as the serializer wrote it: JSON, or bytes as text. */
interface Dumped {
  readonly type: string
  readonly json: Json
}

const decoder = new TextDecoder()

function saved(log: CheckpointLog, { type, json }: Dumped): Saved {
  const reference = log.table.write(json)
  return type === 'json' ? reference : [type, reference]
}

function configOf(threadId: string, ns: string, checkpointId: string): RunnableConfig {
  return {
    configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpointId },
  }
}

function placeIn({ configurable = {} }: RunnableConfig): {
  readonly threadId: string
  readonly ns: string
  readonly checkpointId: string | undefined
} {
  const { thread_id: threadId, checkpoint_ns: ns = '', checkpoint_id: checkpointId } = configurable
  if (typeof threadId !== 'string' || threadId === '') {
    throw wrongOption('configurable.thread_id', 'the id of the conversation, as a text')
  }
  if (typeof ns !== 'string') throw wrongOption('configurable.checkpoint_ns', 'a text')
  if (checkpointId !== undefined && typeof checkpointId !== 'string') {
    throw wrongOption('configurable.checkpoint_id', 'a text')
  }
  return { threadId, ns, checkpointId: checkpointId === '' ? undefined : checkpointId }
}
