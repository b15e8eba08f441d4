// Agent routes for the studio's chat: instructions, and the tools that the server runs.

import { z } from 'zod'
import { type DemoTool, demoTools, runDemoTool } from '../demo/tools.ts'
import { refuse } from '../http/errors.ts'
import { json, type Route } from '../http/router.ts'
import type { Limits } from '../options.ts'
import type { AgentRegistry } from '../settings/agents.ts'
import { readJson } from './parameters.ts'

export interface Agent {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly model?: string
  readonly system?: string
  /** Questions that a person may ask first, in this order. */
  readonly questions: readonly string[]
  /** Empty unless the template has `"tools": "demo"`, the only tools of the server. */
  readonly tools: readonly DemoTool[]
}

export interface AgentRouteOptions {
  readonly agents: AgentRegistry
  readonly limits: Limits
}

const maxQuestions = 20
const toolBody = z.strictObject({ arguments: z.string() })

export function agentRoutes({ agents, limits }: AgentRouteOptions): readonly Route[] {
  return [
    {
      method: 'GET',
      path: '/api/agents/:name',
      access: 'key',
      summary: 'An agent: model, system text and tools.',
      answer: 'Agent',
      handle: ({ param }) => json(agentOf(agents, param('name'))),
    },
    {
      method: 'POST',
      path: '/api/agents/:name/tools/:tool',
      access: 'key',
      summary: 'Runs a tool of an agent. The demo tools have no side effects.',
      body: toolBody,
      answer: '{ text }',
      handle: async (context) => {
        const { param } = context
        const { tools } = agentOf(agents, param('name'))
        const name = param('tool')
        if (tools.every((tool) => tool.name !== name)) {
          throw refuse(404, 'not-found', 'This agent has no tool of this name.')
        }
        const body = await readJson(context, toolBody, limits)
        return json({ text: runDemoTool(name, body.arguments) })
      },
    },
  ]
}

function agentOf(agents: AgentRegistry, name: string): Agent {
  const template = agents.get(name)
  if (template === undefined) throw refuse(404, 'not-found', 'There is no such agent.')
  const { title, description, model, system, tools, questions } = template
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    ...(model === undefined ? {} : { model }),
    ...(typeof system === 'string' ? { system } : {}),
    questions: Array.isArray(questions)
      ? questions.filter((one) => typeof one === 'string').slice(0, maxQuestions)
      : [],
    tools: tools === 'demo' ? demoTools : [],
  }
}
