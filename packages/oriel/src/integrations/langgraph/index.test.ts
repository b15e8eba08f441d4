import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import {
  Annotation,
  Command,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph'
import {
  type BaseCheckpointSaver,
  type Checkpoint,
  MemorySaver,
  uuid6,
} from '@langchain/langgraph-checkpoint'
import * as fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import type { Store } from '../../stores/store.ts'
import { OrielSaver } from './index.ts'

const State = Annotation.Root({ ...MessagesAnnotation.spec })

/** A tool loop: so many results of so many characters for each question. */
function loop(saver: OrielSaver, { steps, length = 20 }: { steps: number; length?: number }) {
  const done = (messages: readonly unknown[]): number =>
    messages.length - 1 - messages.findLastIndex((one) => HumanMessage.isInstance(one as never))
  return new StateGraph(State)
    .addNode('model', ({ messages }) => {
      const step = done(messages) / 2
      if (step >= steps) return { messages: [new AIMessage(`Answer ${messages.length}`)] }
      const call = { id: `call_${messages.length}`, name: 'read', args: { step } }
      return { messages: [new AIMessage({ content: '', tool_calls: [call] })] }
    })
    .addNode('tools', ({ messages }) => {
      const id = `call_${messages.length - 1}`
      const text = `${id} said this, and `.repeat(Math.ceil(length / 20)).slice(0, length)
      return { messages: [new ToolMessage({ content: text, tool_call_id: id })] }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => (done(messages) / 2 >= steps ? END : 'tools'))
    .addEdge('tools', 'model')
    .compile({ checkpointer: saver })
}

const config = (thread: string) => ({ configurable: { thread_id: thread }, recursionLimit: 1000 })
const ask = (text: string) => ({ messages: [new HumanMessage(text)] })
const textsOf = (state: { messages: { text: string }[] }): string[] =>
  state.messages.map(({ text }) => text)

async function listed<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}

async function bytesIn(store: Store): Promise<number> {
  const logs = await store.list('langgraph')
  return logs.reduce((sum, { bytes }) => sum + bytes, 0)
}

const metadata = { source: 'loop', step: 1, parents: {} } as const
const checkpointOf = (id: string, values: Record<string, unknown>): Checkpoint => ({
  v: 4,
  id,
  ts: '',
  channel_values: values,
  channel_versions: Object.fromEntries(Object.keys(values).map((channel) => [channel, 1])),
  versions_seen: {},
})

/** One call of a checkpointer: a checkpoint, or the writes of a task. */
interface Call {
  readonly checkpoint: number
  /** Its writes; none saves the checkpoint itself. */
  readonly task: number | undefined
  readonly text: string
}
const idsOfCalls = Array.from({ length: 4 }, (_, index) => uuid6(index))
const callArbitrary: fc.Arbitrary<Call> = fc.record({
  checkpoint: fc.nat({ max: idsOfCalls.length - 1 }),
  task: fc.option(fc.nat({ max: 2 }), { nil: undefined }),
  text: fc.constantFrom('short', ...['a', 'b', 'c'].map((letter) => letter.repeat(100))),
})

async function send(saver: BaseCheckpointSaver, { checkpoint, task, text }: Call): Promise<void> {
  const id = idsOfCalls[checkpoint] ?? ''
  const place = (id: string | undefined) => ({
    configurable: { thread_id: 'a', checkpoint_ns: '', ...(id && { checkpoint_id: id }) },
  })
  if (task !== undefined) {
    await saver.putWrites(place(id), [['text', text]], `task ${task}`)
    return
  }
  // Every second one has a channel that the others lack.
  const extra = checkpoint % 2 === 0 ? { extra: checkpoint } : {}
  const state = checkpointOf(id, { text: `${text} of ${checkpoint}`, ...extra })
  const parent = place(idsOfCalls[checkpoint - 1])
  await saver.put(parent, state, metadata, state.channel_versions)
}

async function keptBy(saver: BaseCheckpointSaver, id: string): Promise<unknown> {
  const configurable = { thread_id: 'a', checkpoint_ns: '', checkpoint_id: id }
  const tuple = await saver.getTuple({ configurable })
  const writes = [...(tuple?.pendingWrites ?? [])].sort(([a], [b]) => (a < b ? -1 : 1))
  return tuple && { checkpoint: tuple.checkpoint, parent: tuple.parentConfig, writes }
}

describe('a graph with the checkpointer', () => {
  it('[LG1] goes on after a restart, with another saver on the same store', async () => {
    const store = memoryStore()
    await loop(new OrielSaver({ store }), { steps: 2 }).invoke(ask('One'), config('a'))
    const second = loop(new OrielSaver({ store }), { steps: 1 })
    const state = await second.invoke(ask('Two'), config('a'))
    expect(textsOf(state).filter((text) => /One|Two|Answer/.test(text))).toEqual([
      'One',
      'Answer 5',
      'Two',
      'Answer 9',
    ])
  })

  it('[LG3] gives every past state, and forks from it without touching the first line', async () => {
    const store = memoryStore()
    const graph = loop(new OrielSaver({ store }), { steps: 2 })
    await graph.invoke(ask('One'), config('a'))
    const newest = await graph.getState(config('a'))
    const history = await listed(graph.getStateHistory(config('a')))
    expect(history.map(({ values }) => values.messages?.length ?? 0)).toEqual([6, 5, 4, 3, 2, 1, 0])
    const early = history.find(({ values }) => values.messages?.length === 3)
    const forked = await graph.updateState(early?.config ?? {}, ask('Another way'))
    const other = await graph.getState(forked)
    expect(textsOf(other.values).at(-1)).toBe('Another way')
    const again = await graph.getState({ configurable: { ...newest.config.configurable } })
    expect(textsOf(again.values)).toEqual(textsOf(newest.values))
  })

  it('[LG1] resumes what was interrupted', async () => {
    const saver = new OrielSaver({ store: memoryStore() })
    const graph = new StateGraph(State)
      .addNode('approve', () => ({ messages: [new AIMessage(`Said ${interrupt('Go on?')}`)] }))
      .addEdge(START, 'approve')
      .compile({ checkpointer: saver })
    await graph.invoke(ask('Delete it'), config('a'))
    const state = await graph.invoke(new Command({ resume: 'yes' }), config('a'))
    expect(textsOf(state).at(-1)).toBe('Said yes')
  })

  it("[LG1] subgraphs, interrupts in them, filters of the history and updates of the past are those of LangGraph's own saver", async () => {
    const Text = Annotation.Root({
      said: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
    })
    const flow = async (saver: BaseCheckpointSaver): Promise<unknown> => {
      const inner = new StateGraph(Text)
        .addNode('ask', () => ({ said: [`asked and got ${String(interrupt('Go on?'))}`] }))
        .addNode('fail', ({ said }) => {
          if (said.length > 6) throw new Error('too much was said')
          return { said: ['inner'] }
        })
        .addEdge(START, 'ask')
        .addEdge('ask', 'fail')
        .addEdge('fail', END)
        .compile()
      const graph = new StateGraph(Text)
        .addNode('begin', () => ({ said: ['begun'] }))
        .addNode('inner', inner)
        .addEdge(START, 'begin')
        .addEdge('begin', 'inner')
        .addEdge('inner', END)
        .compile({ checkpointer: saver })
      const place = config('sub')
      const streamed: string[] = []
      for await (const chunk of await graph.stream(
        { said: ['one'] },
        { ...place, subgraphs: true, streamMode: 'updates' },
      )) {
        streamed.push(Object.keys(chunk[1] as object).join())
      }
      const waiting = await graph.getState(place, { subgraphs: true })
      const first = await graph.invoke(new Command({ resume: 'yes' }), place)
      const history = await listed(graph.getStateHistory(place))
      const loops = await listed(
        graph.getStateHistory(place, { filter: { source: 'loop' }, limit: 2 }),
      )
      const early = await listed(
        graph.getStateHistory(place, { before: history[1]?.config as never }),
      )
      const past = history.find(({ next }) => next[0] === 'inner')
      const forked = await graph.updateState(past?.config as never, { said: ['changed'] }, 'begin')
      await graph.invoke(null, forked)
      const again = await graph.invoke(new Command({ resume: 'no' }), place)
      await graph.invoke({ said: ['two'] }, place)
      const failed = await graph.invoke(new Command({ resume: 'no' }), place).catch(String)
      const told = (one: { values: unknown; next: readonly string[]; metadata?: unknown }) => [
        one.values,
        one.next,
        (one.metadata as { source?: string; step?: number } | undefined)?.source,
        (one.metadata as { source?: string; step?: number } | undefined)?.step,
      ]
      return {
        ...{ streamed, first, again, failed: failed instanceof Object ? 'went on' : failed },
        waiting: [
          waiting.next,
          waiting.tasks.map(({ name, interrupts, state }) => [
            name,
            interrupts.map(({ value }) => value),
            (state as { next?: unknown })?.next,
          ]),
        ],
        ...{ history: history.map(told), loops: loops.map(told), early: early.map(told) },
        all: (await listed(graph.getStateHistory(place))).map(told),
      }
    }
    const own = await flow(new MemorySaver())
    expect(own).toMatchObject({ failed: expect.stringContaining('too much was said') })
    expect(await flow(new OrielSaver({ store: memoryStore() }))).toEqual(own)
  })

  it('[LG2] needs less than twice the bytes of the conversation, and no more for each step of a longer one', async () => {
    const measure = async (
      steps: number,
      length = 2000,
    ): Promise<{ bytes: number; payload: number }> => {
      const store = memoryStore()
      const graph = loop(new OrielSaver({ store }), { steps, length })
      const { messages } = await graph.invoke(ask('Read all.'), config('a'))
      return { bytes: await bytesIn(store), payload: JSON.stringify(messages).length }
    }
    const short = await measure(10)
    const long = await measure(40)
    expect(short.bytes).toBeLessThan(2 * short.payload)
    expect(long.bytes).toBeLessThan(4.4 * short.bytes)
    const terse = await measure(40, 100)
    expect(terse.bytes).toBeLessThan(2 * terse.payload)
  })

  it('[LG7] saves what a step wrote and the checkpoint after it as one entry', async () => {
    const store = memoryStore()
    const graph = loop(new OrielSaver({ store }), { steps: 10 })
    await graph.invoke(ask('Read all.'), { ...config('a'), durability: 'sync' })
    const checkpoints = await listed(graph.getStateHistory(config('a')))
    const [log] = await store.list('langgraph')
    expect(checkpoints.length).toBe(23)
    expect(log?.version).toBeLessThanOrEqual(checkpoints.length + 1)
  })

  it('[LG7] fails all that was to be one entry, and nothing of it is left in the log', async () => {
    const store = memoryStore()
    const saver = new OrielSaver({ store })
    const [first, second] = [uuid6(0), uuid6(1)]
    const text = 'a text that is long enough for a node of its own in the table'
    await saver.put(config('a'), checkpointOf(first, {}), metadata, {})
    const save = (end: string): Promise<unknown>[] => {
      const at = { configurable: { thread_id: 'a', checkpoint_id: first } }
      const state = checkpointOf(second, { text: text + end })
      return [
        saver.putWrites(at, [['text', text + end]], 'task'),
        saver.put(at, state, metadata, { text: 1 }),
      ]
    }
    vi.spyOn(store, 'append').mockRejectedValueOnce(new Error('disk full'))
    const outcomes = await Promise.allSettled(save(' one'))
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect((await saver.getTuple(config('a')))?.checkpoint.id).toBe(first)
    await Promise.all(save(' two'))
    for (const reader of [saver, new OrielSaver({ store })]) {
      const tuple = await reader.getTuple(config('a'))
      expect(tuple?.checkpoint).toEqual(checkpointOf(second, { text: `${text} two` }))
      const parent = await reader.getTuple(tuple?.parentConfig ?? {})
      expect(parent?.pendingWrites).toEqual([['task', 'text', `${text} two`]])
    }
  })

  it('[LG7] keeps what a saver that writes one after the other keeps, however calls overlap', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(callArbitrary, { maxLength: 6 })), async (rounds) => {
        const store = memoryStore()
        const [saver, model] = [new OrielSaver({ store }), new MemorySaver()]
        for (const round of rounds) {
          await Promise.all(round.map((call) => send(saver, call)))
          for (const call of round) await send(model, call)
        }
        const kept = await Promise.all(idsOfCalls.map((id) => keptBy(model, id)))
        for (const reader of [saver, new OrielSaver({ store })]) {
          expect(await Promise.all(idsOfCalls.map((id) => keptBy(reader, id)))).toEqual(kept)
        }
      }),
    )
  })

  it('[LG4] erases a thread with its content, after which the id begins anew', async () => {
    const store = memoryStore()
    const saver = new OrielSaver({ store })
    const graph = loop(saver, { steps: 1 })
    await graph.invoke(ask('Secret'), config('a'))
    await graph.invoke(ask('Other'), config('b'))
    await saver.deleteThread('a')
    expect(await saver.getTuple(config('a'))).toBeUndefined()
    expect(await store.list('langgraph')).toHaveLength(1)
    const state = await graph.invoke(ask('Again'), config('a'))
    expect(textsOf(state)[0]).toBe('Again')
  })

  it('[LG5] lets two savers write to one thread at once', async () => {
    const store = memoryStore()
    const savers = [new OrielSaver({ store }), new OrielSaver({ store })]
    const ids = Array.from({ length: 20 }, (_, index) => uuid6(index))
    await Promise.all(
      ids.map((id, index) =>
        savers[index % 2]?.put(
          config('a'),
          {
            v: 4,
            id,
            ts: '',
            channel_values: { text: 'long text '.repeat(index + 5) },
            channel_versions: { text: 1 },
            versions_seen: {},
          },
          { source: 'loop', step: index, parents: {} },
          { text: 1 },
        ),
      ),
    )
    for (const saver of [...savers, new OrielSaver({ store })]) {
      const found = await listed(saver.list(config('a')))
      const texts = found.map(({ metadata, checkpoint }) => [
        metadata?.step,
        (checkpoint.channel_values.text as string).length,
      ])
      expect(texts.sort(([a = 0], [b = 0]) => Number(a) - Number(b))).toEqual(
        ids.map((_, index) => [index, 10 * (index + 5)]),
      )
    }
  })

  it('[LG6] rejects unknown options and ids that are no texts', async () => {
    const store = memoryStore()
    const open = (): unknown => new OrielSaver({ store, path: 'x' } as never)
    expect(open).toThrow(expect.objectContaining({ code: 'invalid-option', path: 'path' }))
    const saver = new OrielSaver({ store })
    const wrong = saver.getTuple({ configurable: { thread_id: 7 } })
    await expect(wrong).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
