// Items and tools of Responses, as far as expansion looks at them.

import type { Json, JsonObject } from 'oriel'
import { isObject } from '../rewrite.ts'

/** Answers repeat the list of tools, the gateway's too. */
export function withoutTool(response: JsonObject, name: string): JsonObject {
  const { tools } = response
  if (!Array.isArray(tools) || !tools.some((tool) => isNamed(tool, name))) return response
  return { ...response, tools: tools.filter((tool: Json) => !isNamed(tool, name)) }
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
