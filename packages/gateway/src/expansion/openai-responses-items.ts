// Items and tools of Responses, as far as expansion looks at them.

import type { Json, JsonObject } from 'oriel'
import { isObject } from '../call/rewrite.ts'
import type { SpliceOptions } from './splicer.ts'

/** What a client hears that says nothing of tools. */
export const defaultChoice = 'auto'

/** Answers repeat the list of tools, the gateway's too, and the choice of them. */
export function withoutTool(response: JsonObject, { name, isOpen }: SpliceOptions): JsonObject {
  const { tools, tool_choice: choice } = response
  const hasTool = Array.isArray(tools) && tools.some((tool) => isNamed(tool, name))
  const hasChoice = !isOpen && choice !== undefined
  if (!hasTool && !hasChoice) return response
  return {
    ...response,
    ...(hasTool ? { tools: tools.filter((tool: Json) => !isNamed(tool, name)) } : {}),
    ...(hasChoice ? { tool_choice: defaultChoice } : {}),
  }
}

export function isOwnCall(item: JsonObject, name: string): boolean {
  return item.type === 'function_call' && item.name === name
}

/** Items that wait for something from the client. */
const callTypes: ReadonlySet<Json | undefined> = new Set([
  'function_call',
  'custom_tool_call',
  'local_shell_call',
  'shell_call',
  'apply_patch_call',
  'computer_call',
  'mcp_approval_request',
])

export function isCall({ type }: JsonObject): boolean {
  return callTypes.has(type)
}

export function outputOf({ output }: JsonObject): readonly JsonObject[] {
  return Array.isArray(output) ? output.filter(isObject) : []
}

/** Whether a tool is the function of that name. */
export function isNamed(tool: unknown, name: string): boolean {
  return isObject(tool) && tool.type === 'function' && tool.name === name
}
