// The tool as the gateway offers it: its description says what a system prompt would, since the system text is the client's.

import { expandTool } from 'oriel'
import type { ToolDefinition } from './format.ts'

const { definition } = expandTool({
  expand: async () => ({ ok: false, reason: 'Not expanded: there is no thread.' }),
})

const description = [
  definition.description,
  'Shortened parts say so: [Omitted: ...], [Compacted: ...], [AI Summary of N chars ...] or [... left out ...], with an id such as e7k2.',
  'Use it when you need exact details, quotes or values of such a part, or are asked about it; not to be on the safe side.',
  'If the result says that it was not expanded, do not ask for the same again.',
].join(' ')

export function toolDefinition(name: string): ToolDefinition {
  return { name, description, parameters: definition.parameters }
}
