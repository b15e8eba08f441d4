// The harness's messages as those of the AI SDK.

import type { Json, JsonObject } from 'oriel'

/** What is looked at in a block of the harness. Blocks of plugins have types of their own. */
export interface DshBlock {
  readonly type: string
  readonly text?: string
  readonly id?: string
  readonly name?: string
  /** The JSON of a call, as the model wrote it. */
  readonly arguments?: string
  readonly toolCallId?: string
  readonly content?: readonly DshBlock[]
  readonly isError?: boolean
}

export interface DshMessage {
  readonly role: 'user' | 'assistant'
  readonly content: readonly DshBlock[]
}

/** A result stands in the user's role there, and in the tool's here. */
export function toAiSdk(messages: readonly DshMessage[]): readonly JsonObject[] {
  const names = new Map<string, string>()
  return messages.flatMap(({ role, content }): readonly JsonObject[] => {
    for (const { type, id = '', name = '' } of content)
      if (type === 'tool-call') names.set(id, name)
    if (role === 'assistant') return [{ role, content: content.flatMap(answerPart) }]
    const results = content.filter(isResult).map((block) => resultPart(block, names))
    const said = content.filter((block) => !isResult(block))
    return [
      ...(results.length === 0 ? [] : [{ role: 'tool', content: results }]),
      ...(said.length === 0 ? [] : [{ role, content: [{ type: 'text', text: textOf(said) }] }]),
    ]
  })
}

function isResult({ type }: DshBlock): boolean {
  return type === 'tool-result'
}

function answerPart({
  type,
  text = '',
  id = '',
  name = '',
  arguments: written = '',
}: DshBlock): Json[] {
  if (type === 'text' || type === 'reasoning') return [{ type, text }]
  if (type !== 'tool-call') return []
  return [{ type: 'tool-call', toolCallId: id, toolName: name, input: inputOf(written) }]
}

/** Models write arguments that are no JSON. */
function inputOf(written: string): Json {
  try {
    return JSON.parse(written) as Json
  } catch {
    return written
  }
}

function resultPart(
  { toolCallId = '', content = [], isError = false }: DshBlock,
  names: ReadonlyMap<string, string>,
): Json {
  const output = { type: isError ? 'error-text' : 'text', value: textOf(content) }
  return { type: 'tool-result', toolCallId, toolName: names.get(toolCallId) ?? '', output }
}

/** Pictures are references to files of the harness: the log has their place. */
function textOf(blocks: readonly DshBlock[]): string {
  return blocks.map(({ type, text }) => text ?? `[${type}]`).join('\n')
}
