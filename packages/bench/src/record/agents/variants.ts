// Sessions in which an agent rewrites its own history: compaction, a sub-agent that reports late, a cut stream.

import type { Reply } from '../reply.ts'
import type { Step } from '../script.ts'
import type { Asked } from '../server.ts'
import type { Agent, Run } from './agent.ts'
import { claudeCode } from './claude-code.ts'
import { codex } from './codex.ts'
import { opencode } from './opencode.ts'
import { pi } from './pi.ts'
import { qwenCode } from './qwen-code.ts'
import { agentSteps, editedTask, firstTask, secondTask } from './session.ts'

/** Above the limit of every agent here, so that it compacts by itself. */
const overflowing = 270_000

const shortRuns: readonly Run[] = [
  { prompt: firstTask, mode: 'new' },
  { prompt: secondTask, mode: 'continue' },
  { prompt: editedTask, mode: 'continue' },
]

const summary: Reply = {
  text: '<analysis>Short.</analysis>\n<summary>The user counts lines.</summary>\n<state_snapshot>The user counts lines.</state_snapshot>',
}

export const variants: readonly Agent[] = [
  compacting(named(pi, 'pi-openai-chat'), { at: 1 }),
  compacting(named(pi, 'pi-openai-responses'), { at: 1 }),
  compacting(named(codex, 'codex'), { at: 4 }),
  compacting(named(opencode, 'opencode-openai-chat'), { at: 1, hasExtraStep: true }),
  compacting(claudeCode, { at: 0, command: '/compact' }),
  refusingToCompact(qwenCode),
  reportingLate(claudeCode),
  cut(claudeCode),
  cut(named(pi, 'pi-anthropic')),
]

function named(agents: readonly Agent[], name: string): Agent {
  const agent = agents.find((candidate) => candidate.name === name)
  if (agent === undefined) throw new Error(`No agent is called ${name}`)
  return agent
}

interface Compaction {
  /** Index of the first message that differs after the compaction. */
  readonly at: number
  /** Compact by this command instead of by a full window. */
  readonly command?: string
  /** The agent continues by itself right after it has compacted. */
  readonly hasExtraStep?: boolean
}

function compacting(agent: Agent, { at, command, hasExtraStep = false }: Compaction): Agent {
  const inputTokens = command === undefined ? overflowing : 100
  const after: Step = {
    name: 'after',
    truth: { fork: 'told', at },
    reply: { text: 'second line', inputTokens: 100 },
  }
  const next: Step = { name: 'next', truth: { extends: 'after' }, reply: { text: 'fourth line' } }
  const last: Step = { name: 'last', truth: { extends: 'next' }, reply: { text: 'Done.' } }
  const runs = command === undefined ? shortRuns : withCommand(command)
  return {
    ...agent,
    name: `${agent.name}-compact`,
    description: `${agent.client}: a task, a compaction of the conversation, two more turns. Frame and long outputs are trimmed.`,
    sideReply: summary,
    runs,
    steps: { main: [...opening(agent, inputTokens), after, next, ...(hasExtraStep ? [last] : [])] },
    route: (asked) => (isSummaryRequest(asked) ? 'side' : agent.route(asked)),
  }
}

/** Asks for a summary with the very frame of the conversation, finds it too long, and continues as if nothing was. */
function refusingToCompact(agent: Agent): Agent {
  const main: Step[] = [
    ...opening(agent, 100),
    { name: 'second', truth: { extends: 'told' }, reply: { text: 'second line' } },
    { name: 'third', truth: { extends: 'second' }, reply: { text: 'fourth line' } },
  ]
  const [first, ...rest] = shortRuns
  const command: Run = { prompt: '/compress', mode: 'continue', mayFail: true }
  return {
    ...agent,
    name: `${agent.name}-summary-dropped`,
    description: `${agent.client}: a summary is asked for within the conversation and then not used; two more turns. Frame and long outputs are trimmed.`,
    sideReply: summary,
    runs: [...(first === undefined ? [] : [first]), command, ...rest],
    steps: { main },
    route: (asked) => (isSummaryRequest(asked) ? 'side' : agent.route(asked)),
  }
}

function withCommand(prompt: string): readonly Run[] {
  const [first, ...rest] = shortRuns
  return first === undefined ? [] : [first, { prompt, mode: 'continue' }, ...rest]
}

function opening(agent: Agent, inputTokens: number): readonly Step[] {
  return [
    {
      name: 'task',
      truth: 'new-thread',
      reply: { text: 'I will look.', calls: [agent.calls.read('notes.txt')] },
    },
    { name: 'told', truth: { extends: 'task' }, reply: { text: 'Four lines.', inputTokens } },
  ]
}

function isSummaryRequest({ body }: Asked): boolean {
  const marks =
    /CRITICAL: Respond with TEXT ONLY|CHECKPOINT COMPACTION|context summarization a|summarizes a conversation/
  return marks.test(JSON.stringify(body))
}

/** A sub-agent in the background: its report arrives as a message of its own, later. */
function reportingLate(agent: Agent): Agent {
  const prompt = 'SUBTASK: read notes.txt and quote its first line.'
  const call = {
    name: 'Agent',
    arguments: JSON.stringify({ subagent_type: 'general-purpose', description: 'Quote', prompt }),
  }
  const { sub = [] } = agentSteps(agent)
  const main: Step[] = [
    { name: 'task', truth: 'new-thread', reply: { text: 'I will ask.', calls: [call] } },
    { name: 'launched', truth: { extends: 'task' }, reply: { text: 'Waiting.' } },
    { name: 'reported', truth: { extends: 'launched' }, reply: { text: 'It says "first line".' } },
    { name: 'next', truth: { extends: 'reported' }, reply: { text: 'second line' } },
  ]
  return {
    ...agent,
    name: `${agent.name}-background`,
    description: `${agent.client}: a sub-agent in the background whose report comes later as a message. Frame and long outputs are trimmed.`,
    runs: shortRuns.slice(0, 2),
    steps: { main, sub },
  }
}

/** The failed request is a stream that breaks off in the middle. */
function cut(agent: Agent): Agent {
  const usual = agentSteps(agent)
  const reply: Reply = {
    reasoning: 'Half a',
    text: 'This answer breaks off before its end.',
    isCut: true,
  }
  const main = (usual.main ?? []).map((step) =>
    step.name === 'failed' ? { ...step, reply } : step,
  )
  return {
    ...agent,
    name: `${agent.name}-cut`,
    description: agent.description.replace('one failed request', 'one stream that breaks off'),
    steps: { ...usual, main },
  }
}
