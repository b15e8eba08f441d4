// Bytes on disk of LangGraph checkpointers, per byte of the conversation that they keep: a tool loop of so many steps.
// `node src/checkpoints.ts [--steps 200] [--bytes 2000] [--pause 20] [--only oriel|sqlite]`; a node takes `pause` ms, as a model does.

import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages'
import { Annotation, END, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import type { BaseCheckpointSaver } from '@langchain/langgraph-checkpoint'

const { values } = parseArgs({
  options: {
    steps: { type: 'string', default: '200' },
    bytes: { type: 'string', default: '2000' },
    pause: { type: 'string', default: '20' },
    only: { type: 'string' },
  },
})
const steps = Number(values.steps)
const resultBytes = Number(values.bytes)
const pauseMs = Number(values.pause)

/** As many words as a source tree has names. */
const vocabulary = Array.from({ length: 3000 }, (_, index) =>
  (Math.imul(index + 1, 2654435761) >>> 0).toString(36).slice(0, 3 + (index % 6)),
)

interface Kept {
  readonly saver: BaseCheckpointSaver
  close(): unknown
}

const State = Annotation.Root({ ...MessagesAnnotation.spec })

async function run(saver: BaseCheckpointSaver): Promise<number> {
  let step = 0
  const graph = new StateGraph(State)
    .addNode('model', async () => {
      if (pauseMs > 0) await delay(pauseMs)
      step += 1
      if (step > steps) return { messages: [new AIMessage('Done.')] }
      const call = { id: `call_${step}`, name: 'read', args: { path: `src/${step}.ts` } }
      return {
        messages: [new AIMessage({ content: `Step ${step}.`, tool_calls: [call] })],
      }
    })
    .addNode('tools', async () => {
      if (pauseMs > 0) await delay(pauseMs)
      const message = new ToolMessage({ content: textOf(step), tool_call_id: `call_${step}` })
      return { messages: [message] }
    })
    .addEdge(START, 'model')
    .addConditionalEdges('model', () => (step > steps ? END : 'tools'))
    .addEdge('tools', 'model')
    .compile({ checkpointer: saver })
  const config = { configurable: { thread_id: 'bench' }, recursionLimit: steps * 3 + 10 }
  await graph.invoke({ messages: [new HumanMessage('Read all files.')] }, config)
  const state = await graph.getState(config)
  if (state.values.messages.length !== steps * 2 + 2) throw new Error('The state is not whole.')
  return Buffer.byteLength(JSON.stringify(state.values.messages))
}

/** Text like a tool's: words of a vocabulary, in an order that does not repeat itself. */
function textOf(seed: number): string {
  let state = seed * 2654435761
  const next = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state >>> 8
  }
  const words: string[] = []
  for (let length = 0; length < resultBytes; length += (words.at(-1)?.length ?? 0) + 1) {
    words.push(vocabulary[next() % vocabulary.length] ?? '')
  }
  return words.join(' ')
}

async function oriel(path: string): Promise<Kept> {
  const { sqliteStore } = await import('../../oriel/src/stores/sqlite/index.ts')
  const { OrielSaver } = await import('../../oriel/src/integrations/langgraph/index.ts')
  const store = sqliteStore({ path })
  return { saver: new OrielSaver({ store }), close: () => store.close() }
}

async function sqlite(path: string): Promise<Kept> {
  const { SqliteSaver } = await import('@langchain/langgraph-checkpoint-sqlite')
  const saver = SqliteSaver.fromConnString(path)
  return { saver, close: () => saver.db.close() }
}

const all = { oriel, sqlite }
console.log('checkpointer\tsteps\tpayload bytes\tdisk bytes\tdisk per payload byte\tms')
for (const [name, open] of Object.entries(all)) {
  if (values.only !== undefined && values.only !== name) continue
  const directory = mkdtempSync(join(tmpdir(), 'oriel-checkpoints-'))
  const { saver, close } = await open(join(directory, 'store.db'))
  const started = performance.now()
  const payload = await run(saver)
  const ms = Math.round(performance.now() - started)
  await close()
  const disk = readdirSync(directory).reduce(
    (sum, file) => sum + statSync(join(directory, file)).size,
    0,
  )
  console.log([name, steps, payload, disk, (disk / payload).toFixed(2), ms].join('\t'))
  rmSync(directory, { recursive: true })
}
