// PostgreSQL store compared with plain inserts of the same durability, and with LangGraph's
// checkpointer on the same conversation: `npm run bench:postgres`. Starts its own PostgreSQL with
// default settings (fsync on).

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages'
import { END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import pg from 'pg'
import { startPostgres } from '../../../scripts/postgres.ts'
import { conversationOf, turnOf } from './agent.ts'
import type { ChatMessage } from './conversations.ts'
import { type Contender, race, type Timing } from './harness.ts'
import {
  decode,
  type Entry,
  OrielError,
  openThread,
  postgresStore,
  prepare,
  resolveCounter,
  State,
  type Store,
} from './oriel.ts'
import {
  count,
  endProgress,
  figure,
  progress,
  type Row,
  ratio,
  readSettings,
  report,
  type Table,
  words,
} from './report.ts'

const writers = 16
const appendsEach = 20
const rounds = 12
const loaded = 2000
const tenant = 'bench'
const policy = { history: { policy: 'lastN', length: 10 } } as const

const settings = readSettings()
const server = await startPostgres({ own: true, isDurable: true })
const pool = new pg.Pool({ connectionString: server.url, max: writers })
const stores: Store[] = []
const savers: PostgresSaver[] = []
try {
  const tables = [await appendTable(), await hotTable(), await loadTable(), await growthTable()]
  endProgress()
  report('postgres', tables, settings)
} finally {
  await Promise.all(stores.map((store) => store.close()))
  await Promise.all(savers.map((saver) => saver.end()))
  await pool.end()
  await server.close()
}

function open(schema: string, options: Parameters<typeof postgresStore>[1] = {}): Store {
  const store = postgresStore(server.url, { schema, maxConnections: writers, ...options })
  stores.push(store)
  return store
}

async function appendTable(): Promise<Table> {
  await pool.query('create table raw (id bigserial primary key, thread text, body text)')
  const entries = entriesOf(conversationOf(1000))
  const texts = entries.map((entry) => JSON.stringify(entry))
  const contenders = [
    rawWriter(texts, 'plain insert'),
    appender(open('plain'), entries, 'postgresStore'),
    appender(open('quiet', { notify: false }), entries, 'postgresStore, notify: false'),
    appender(open('kept', { prepared: true }), entries, 'postgresStore, prepared: true'),
    appender(open('parted', { partitions: 16 }), entries, 'postgresStore, 16 partitions'),
  ]
  const timings = await race(contenders, { rounds, maxMs: 20_000, onRound: onRound('appends') })
  return {
    title: `Appends over ${writers} threads at once`,
    rows: timings.map((own) => appendRow(own, timings)),
    notes: [
      `${writers} writers, ${writers} connections, one message of about 600 bytes an append, each waits for the answer before the next. fsync and synchronous_commit are on.`,
      'A plain insert has no order, no expected version, no hashes and nothing to find a message by.',
    ],
  }
}

async function hotTable(): Promise<Table> {
  const entries = entriesOf(conversationOf(20_000))
  const texts = entries.map((entry) => JSON.stringify(entry))
  const [one, many, piped] = [open('hot_one'), open('hot_many'), open('hot_piped')]
  const each = appendsEach * 4
  let single = 0
  let queued = 0
  const contenders: Contender[] = [
    rawWriter(texts, `plain insert, ${writers} writers`),
    {
      name: 'postgresStore, one writer',
      steps: each,
      async run() {
        for (let done = 0; done < each; done++, single++) {
          await one.append({ tenant, thread: 'hot' }, [entries[single] as Entry], single)
        }
      },
    },
    {
      name: `postgresStore, ${writers} writers that compare and append`,
      steps: each,
      run: () => compete(many, entries, each),
    },
    {
      name: 'postgresStore, one writer that does not wait',
      steps: each,
      async run() {
        const from = queued
        queued += each
        await Promise.all(
          entries
            .slice(from, from + each)
            .map((entry, index) => piped.append({ tenant, thread: 'hot' }, [entry], from + index)),
        )
      },
    },
  ]
  const timings = await race(contenders, { rounds, maxMs: 20_000, onRound: onRound('hot thread') })
  return {
    title: 'Appends to one hot thread',
    rows: timings.map((own) => appendRow(own, timings)),
    notes: ['Writers that compete read the version again after every conflict, as threads do.'],
  }
}

async function loadTable(): Promise<Table> {
  const store = open('loaded')
  await writeThread(store, loaded)
  const conversation = conversationOf(loaded)
  await pool.query('create table messages (seq int primary key, body text)')
  for (const [seq, message] of conversation.entries())
    await pool.query('insert into messages values ($1, $2)', [seq, JSON.stringify(message)])
  const graph = await langGraph()
  const config = { configurable: { thread_id: 'loaded' } }
  await graph.updateState(config, { messages: conversation.map(toLangChain) })
  const timings = await race(
    [
      {
        name: 'plain rows, all parsed',
        async run() {
          const { rows } = await pool.query('select body from messages order by seq')
          return rows.map(({ body }) => JSON.parse(body) as unknown)
        },
      },
      { name: 'postgresStore: read and verify the whole log', run: () => readAll(store) },
      { name: 'openThread', run: () => openThread({ id: 'loaded', tenant, store }) },
      {
        name: 'openThread and view',
        async run() {
          const thread = await openThread({ id: 'loaded', tenant, store })
          return thread.view({ dryRun: true })
        },
      },
      { name: 'LangGraph, PostgresSaver: getState', run: () => graph.getState(config) },
    ],
    { rounds: 20, onRound: onRound('loading') },
  )
  const { version = 0 } = (await store.info({ tenant, thread: 'loaded' })) ?? {}
  return {
    title: `Loading a thread of ${words(loaded)} messages`,
    rows: timings.map(({ name, medianMs }) => ({ contender: name, ms: figure(medianMs) })),
    notes: [
      `The thread was written with a view a step (lastN 10): ${words(version)} entries. LangGraph's state holds the same messages.`,
    ],
  }
}

/**
 * One more step of a conversation with so many messages, and the database size of the whole
 * conversation.
 */
async function growthTable(): Promise<Table> {
  const sizes = [100, 500, 2000]
  const rows: Row[] = []
  const graph = await langGraph()
  for (const size of sizes) {
    const store = open(`grown_${size}`)
    await writeThread(store, size, `grown-${size}`)
    const thread = await openThread({ id: `grown-${size}`, tenant, store })
    const config = { configurable: { thread_id: `grown-${size}` } }
    await graph.updateState(config, { messages: conversationOf(size).map(toLangChain) })
    let turn = size
    let other = size
    const timings = await race(
      [
        {
          name: 'oriel',
          async run() {
            turn += 1
            await thread.append(turnOf(turn)[1] ?? [], { format: 'openai-chat' })
            await thread.view()
          },
        },
        {
          name: 'langgraph',
          run: () => {
            other += 1
            return graph.updateState(config, {
              messages: (turnOf(other)[1] ?? []).map(toLangChain),
            })
          },
        },
      ],
      { rounds: 20, onRound: onRound(`growth, ${size} messages`) },
    )
    rows.push({
      'messages before': words(size),
      'postgresStore: append and view, ms': figure(timings[0]?.medianMs ?? Number.NaN),
      'LangGraph: updateState, ms': figure(timings[1]?.medianMs ?? Number.NaN),
      ...(await spaceOf(size)),
    })
  }
  return {
    title: 'One more step of a long conversation (a call and its result)',
    rows,
    notes: [
      'Bytes: what a conversation of that many messages takes when it is written step by step, a view or a checkpoint each, tables and indexes, per byte of its messages as JSON. LangGraph writes the whole list of messages again at every step; measured up to 500 messages.',
    ],
  }
}

async function spaceOf(size: number): Promise<Row> {
  const bytes = conversationOf(size).reduce((sum, one) => sum + JSON.stringify(one).length, 0)
  const own = await sizeOf(`grown_${size}`)
  const column = 'bytes per byte, postgresStore'
  const peer = 'bytes per byte, LangGraph'
  if (size > 500) return { [column]: figure(own / bytes), [peer]: '-' }
  await pool.query('truncate checkpoints, checkpoint_blobs, checkpoint_writes')
  const graph = await langGraph()
  const config = { configurable: { thread_id: `space-${size}` } }
  for (let turn = 0, done = 0; done < size; turn++) {
    for (const step of turnOf(turn)) {
      await graph.updateState(config, { messages: step.map(toLangChain) })
      done += step.length
    }
  }
  const theirs = await sizeOf('public', ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'])
  return { [column]: figure(own / bytes), [peer]: figure(theirs / bytes) }
}

async function sizeOf(schema: string, tables?: readonly string[]): Promise<number> {
  const { rows } = await pool.query(
    `select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as size from pg_class c
     join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = $1 and c.relkind = 'r' and ($2::text[] is null or c.relname = any($2))`,
    [schema, tables ?? null],
  )
  return Number(rows[0]?.size)
}

function rawWriter(texts: readonly string[], name: string): Contender {
  let at = 0
  const write = async (): Promise<void> => {
    for (let done = 0; done < appendsEach; done++) {
      at += 1
      const text = 'insert into raw (thread, body) values ($1, $2)'
      await pool.query(text, ['thread', texts[at % texts.length]])
    }
  }
  return {
    name,
    steps: writers * appendsEach,
    run: () => Promise.all(Array.from({ length: writers }, write)),
  }
}

function appender(store: Store, entries: readonly Entry[], name: string): Contender {
  let version = 0
  const write = async (_: unknown, thread: number): Promise<void> => {
    for (let at = version; at < version + appendsEach; at++) {
      await store.append({ tenant, thread: `thread ${thread}` }, [entries[at] as Entry], at)
    }
  }
  return {
    name,
    steps: writers * appendsEach,
    async run() {
      await Promise.all(Array.from({ length: writers }, write))
      version += appendsEach
    },
  }
}

/** Uncoordinated writers: each appends at the version it last saw. */
async function compete(store: Store, entries: readonly Entry[], appends: number): Promise<void> {
  const key = { tenant, thread: 'hot' }
  let left = appends
  const write = async (): Promise<void> => {
    let version = (await store.info(key))?.version ?? 0
    while (left > 0) {
      left -= 1
      for (let isDone = false; !isDone; ) {
        try {
          const entry = { ...(entries[version] as Entry), by: Math.random().toString(36) }
          version = (await store.append(key, [entry as Entry], version)).version
          isDone = true
        } catch (error) {
          if (!OrielError.is(error, 'version-conflict')) throw error
          version = (await store.info(key))?.version ?? 0
        }
      }
    }
  }
  await Promise.all(Array.from({ length: writers }, write))
}

function appendRow(own: Timing, all: readonly Timing[]): Row {
  const plain = all.find(({ name }) => name.startsWith('plain insert')) as Timing
  return {
    contender: own.name,
    'per second': count(1000 / own.medianMs),
    'against plain inserts': ratio(plain.medianMs / own.medianMs),
  }
}

async function writeThread(store: Store, size: number, id = 'loaded'): Promise<void> {
  const thread = await openThread({ id, tenant, store, policy })
  let messages = 0
  for (let turn = 0; messages < size; turn++) {
    for (const step of turnOf(turn)) {
      await thread.append(step, { format: 'openai-chat' })
      await thread.view()
      messages += step.length
    }
    progress(`postgres: writing, ${messages} of ${size} messages`)
  }
  await thread.settled()
}

async function readAll(store: Store): Promise<number> {
  let entries = 0
  for await (const _ of store.read({ tenant, thread: 'loaded' })) entries += 1
  return entries
}

async function langGraph() {
  const saver = PostgresSaver.fromConnString(server.url)
  savers.push(saver)
  await saver.setup()
  return new StateGraph(MessagesAnnotation)
    .addNode('agent', () => ({ messages: [] }))
    .addEdge(START, 'agent')
    .addEdge('agent', END)
    .compile({ checkpointer: saver })
}

function toLangChain(message: ChatMessage): BaseMessage {
  const content = typeof message.content === 'string' ? message.content : ''
  if (message.role === 'system') return new SystemMessage(content)
  if (message.role === 'user') return new HumanMessage(content)
  if (message.role === 'tool') {
    return new ToolMessage({ content, tool_call_id: String(message.tool_call_id) })
  }
  const calls = (message.tool_calls ?? []) as readonly {
    id: string
    function: { name: string; arguments: string }
  }[]
  return new AIMessage({
    content,
    tool_calls: calls.map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      args: JSON.parse(text) as Record<string, unknown>,
      type: 'tool_call',
    })),
  })
}

function entriesOf(messages: readonly ChatMessage[]): readonly Entry[] {
  const state = new State({ counter: resolveCounter('estimate'), salt: tenant })
  const drafts = decode('openai-chat', messages).map(({ draft }) => draft)
  return prepare(state, drafts, 0)
}

function onRound(what: string): (done: number, of: number) => void {
  return (done, of) => progress(`postgres: ${what}, round ${done} of ${of}`)
}
