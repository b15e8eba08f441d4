// The task given to every coding agent, and the ground truth of each of its requests.

import type { Fixture } from '../fixture.ts'
import { cleanExchange } from '../fixture.ts'
import { versionOf } from '../recording.ts'
import type { Step } from '../script.ts'
import { Script } from '../script.ts'
import { startServer } from '../server.ts'
import type { Agent, Rooms, Run } from './agent.ts'
import { keepState, openRooms, removeRooms, restoreState, runCommand } from './agent.ts'

export const firstTask = 'Read notes.txt and say how many lines it has.'
export const secondTask = 'Now print the second line.'
export const editedTask = 'Now print the last line.'

const usualRuns: readonly Run[] = [
  { prompt: firstTask, mode: 'new', after: 'keep' },
  { prompt: secondTask, mode: 'continue', after: 'restore' },
  { prompt: editedTask, mode: 'continue' },
  { prompt: firstTask, mode: 'new' },
]

/** Long enough that an agent which shortens outputs does so. */
const longOutput = 'seq -f "row %g of a long output with some words in it" 1 3000'

/**
 * A new session with tools, one failed request and (where there is one) a sub-agent; the session continued; the
 * session taken back to the end of the first task and continued in another way; a new session with the same words.
 */
export function agentSteps(agent: Agent): Readonly<Record<string, readonly Step[]>> {
  const { calls, failWith = 500, editedMessages = 1 } = agent
  const delegate = calls.delegate?.('SUBTASK: read notes.txt and quote its first line.')
  const main: Step[] = [
    {
      name: 'task',
      truth: 'new-thread',
      reply: {
        reasoning: 'I need the file and the folder.\n',
        text: 'I will look at the file.\n',
        calls: [calls.read('notes.txt'), calls.shell('ls; echo "naïve — ok"')],
      },
    },
    {
      name: 'seen',
      truth: { extends: 'task' },
      reply: { reasoning: 'Now a long output.', calls: [calls.shell(longOutput)] },
    },
    { name: 'failed', truth: { extends: 'seen' }, reply: { failWith } },
  ]
  if (delegate !== undefined) {
    main.push(
      {
        name: 'repeated',
        truth: { retry: 'failed' },
        reply: { text: 'A second opinion.', calls: [delegate] },
      },
      {
        name: 'told',
        truth: { extends: 'repeated' },
        reply: { reasoning: 'Done.', text: '\nIt has 4 lines.  \n' },
      },
    )
  } else {
    main.push({
      name: 'told',
      truth: { retry: 'failed' },
      reply: { reasoning: 'Done.', text: '\nIt has 4 lines.  \n' },
    })
  }
  main.push(
    {
      name: 'second task',
      truth: { extends: 'told' },
      reply: { calls: [calls.shell("sed -n '2p' notes.txt"), calls.shell('true')] },
    },
    { name: 'second seen', truth: { extends: 'second task' }, reply: { text: 'second line' } },
    {
      name: 'edited task',
      truth: { fork: 'second seen', fromEnd: editedMessages },
      reply: { text: 'fourth line' },
    },
    { name: 'same words', truth: 'new-thread', reply: { text: 'Four lines.' } },
  )
  const sub: Step[] = [
    {
      name: 'sub task',
      truth: 'new-thread',
      reply: { reasoning: 'Read it.', calls: [calls.read('notes.txt')] },
    },
    {
      name: 'sub seen',
      truth: { extends: 'sub task' },
      reply: { text: 'The first line is "first line".' },
    },
  ]
  return { main, sub: delegate === undefined ? [] : sub }
}

/** Records one agent. Fails if it asked for less or more than the script holds. */
export async function recordAgent(agent: Agent): Promise<Fixture> {
  const script = new Script(agent.steps ?? agentSteps(agent), {
    route: (asked) => agent.route(asked),
    repeated: { side: agent.sideReply ?? { text: 'Counting lines' } },
  })
  const server = await startServer({ seed: agent.name, answer: (asked) => script.answer(asked) })
  const rooms = openRooms(server.url)
  try {
    await work(agent, rooms)
  } finally {
    await server.close()
    if (server.otherCalls.length > 0)
      console.log(`  also asked: ${[...new Set(server.otherCalls)].join(', ')}`)
  }
  if (script.unused.length > 0) {
    throw new Error(`${agent.name} never asked for: ${script.unused.join(', ')}`)
  }
  removeRooms()
  const { frameChars } = agent
  const replace = placeWords(rooms)
  return {
    client: agent.client,
    version: versionOf(agent.client, import.meta.url),
    format: agent.format,
    description: agent.description,
    requests: server.exchanges.map((exchange) =>
      cleanExchange(exchange, { replace, ...(frameChars === undefined ? {} : { frameChars }) }),
    ),
    expected: script.expected(server.exchanges),
  }
}

async function work(agent: Agent, rooms: Rooms): Promise<void> {
  agent.prepare(rooms)
  for (const { prompt, mode, after, mayFail } of agent.runs ?? usualRuns) {
    const run = runCommand(agent.command(prompt, mode, rooms), rooms)
    await (mayFail === true ? run.catch(() => '') : run)
    if (after === 'keep') keepState(rooms)
    if (after === 'restore') restoreState(rooms)
  }
}

/** This machine's folders, also in the spelling with dashes that agents use for folders of their own. */
function placeWords(rooms: Rooms): readonly (readonly [string, string])[] {
  const dashed = (path: string): string => path.replaceAll('/', '-')
  return [
    [rooms.project, '/home/user/project'],
    [rooms.home, '/home/user'],
    [dashed(rooms.project), '-home-user-project'],
    [dashed(rooms.home), '-home-user'],
    [rooms.url, 'http://127.0.0.1:4141'],
  ]
}
