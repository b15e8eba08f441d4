// Format detection of a conversation, with its evidence.

import type { FormatName } from 'oriel'

export interface Detection {
  readonly format: FormatName
  /**
   * - `told`: given by the caller
   * - `certain`: evidence for this format only
   * - `likely`: evidence for several; most for this one
   * - `assumed`: no evidence; plain text looks the same in all formats
   */
  readonly certainty: 'told' | 'certain' | 'likely' | 'assumed'
  /** Evidence, most frequent first. */
  readonly evidence: readonly string[]
}

export type Fields = Readonly<Record<string, unknown>>

/** Maximum evidence named. */
const namedSigns = 2

/** Collects evidence from a request body and its messages. Returns `fallback` if there is none. */
export function detectFormat(
  body: Fields,
  messages: readonly unknown[],
  fallback: FormatName = 'openai-chat',
): Detection {
  const signs = new Signs()
  readBody(body, signs)
  for (const message of messages) if (isFields(message)) readMessage(message, signs)
  return signs.verdict(fallback)
}

/** True for an object that is neither null nor an array. */
export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Roles that frameworks use too: ignored if a framework's own evidence is present. */
const roleSigns = ['role system', 'role tool']

class Signs {
  readonly #seen = new Map<FormatName, Map<string, number>>()

  add(format: FormatName, sign: string): void {
    const signs = this.#seen.get(format) ?? new Map<string, number>()
    signs.set(sign, (signs.get(sign) ?? 0) + 1)
    this.#seen.set(format, signs)
  }

  #forget(format: FormatName, forgotten: readonly string[]): void {
    const signs = this.#seen.get(format)
    for (const sign of forgotten) signs?.delete(sign)
    if (signs?.size === 0) this.#seen.delete(format)
  }

  verdict(fallback: FormatName): Detection {
    if (this.#seen.has('ai-sdk') || this.#seen.has('langchain'))
      this.#forget('openai-chat', roleSigns)
    const ranked = [...this.#seen]
      .map(([format, signs]) => ({ format, signs: [...signs].sort((a, b) => b[1] - a[1]) }))
      .sort((a, b) => total(b.signs) - total(a.signs))
    const first = ranked[0]
    if (first === undefined) return { format: fallback, certainty: 'assumed', evidence: [] }
    return {
      format: first.format,
      certainty: ranked.length === 1 ? 'certain' : 'likely',
      evidence: first.signs.slice(0, namedSigns).map(([sign]) => sign),
    }
  }
}

function total(signs: readonly (readonly [string, number])[]): number {
  return signs.reduce((sum, [, times]) => sum + times, 0)
}

function readBody(body: Fields, signs: Signs): void {
  if (body.input !== undefined && body.messages === undefined)
    signs.add('openai-responses', 'input')
  if (body.instructions !== undefined) signs.add('openai-responses', 'instructions')
  if (body.system !== undefined && body.messages !== undefined) signs.add('anthropic', 'system')
  if (Array.isArray(body.contents)) signs.add('gemini', 'contents')
  if (body.anthropic_version !== undefined) signs.add('anthropic', 'anthropic_version')
  for (const tool of Array.isArray(body.tools) ? body.tools : []) {
    if (!isFields(tool)) continue
    if (tool.input_schema !== undefined) signs.add('anthropic', 'input_schema')
    else if (Array.isArray(tool.functionDeclarations)) signs.add('gemini', 'functionDeclarations')
    else if (isFields(tool.function)) signs.add('openai-chat', 'tools[].function')
    else if (tool.type === 'function') signs.add('openai-responses', 'tools[].name')
  }
}

const itemTypes: ReadonlySet<unknown> = new Set([
  'function_call',
  'function_call_output',
  'custom_tool_call',
  'custom_tool_call_output',
  'reasoning',
  'item_reference',
  'web_search_call',
  'file_search_call',
  'code_interpreter_call',
  'computer_call',
  'computer_call_output',
  'local_shell_call',
  'local_shell_call_output',
  'mcp_call',
])

/** Formats by content part type. `text`, `image` and the like are in more than one. */
const partTypes: ReadonlyMap<unknown, FormatName> = new Map<unknown, FormatName>([
  ['tool_use', 'anthropic'],
  ['tool_result', 'anthropic'],
  ['thinking', 'anthropic'],
  ['redacted_thinking', 'anthropic'],
  ['image_url', 'openai-chat'],
  ['input_audio', 'openai-chat'],
  ['input_text', 'openai-responses'],
  ['output_text', 'openai-responses'],
  ['input_image', 'openai-responses'],
  ['tool-call', 'ai-sdk'],
  ['tool-result', 'ai-sdk'],
  ['tool-approval-request', 'ai-sdk'],
  ['tool-approval-response', 'ai-sdk'],
])

const langchainTypes: ReadonlySet<unknown> = new Set(['human', 'ai', 'system', 'tool', 'generic'])

/** True for a serialized LangChain message, with its class or with its type. */
function isLangchain({ lc, type, id, kwargs, data, content }: Fields): boolean {
  if (lc === 1 && Array.isArray(id) && isFields(kwargs)) return true
  return langchainTypes.has(type) && (isFields(data) || content !== undefined)
}

function readMessage(message: Fields, signs: Signs): void {
  const { role, type } = message
  if (isLangchain(message)) {
    signs.add('langchain', message.lc === 1 ? 'lc' : `type ${String(type)}`)
    return
  }
  if (Array.isArray(message.parts) && message.content === undefined) readParts(message, signs)
  const parts: readonly unknown[] = Array.isArray(message.content) ? message.content : []
  const isAiSdk = parts.some((part) => isFields(part) && partTypes.get(part.type) === 'ai-sdk')
  if (itemTypes.has(type)) signs.add('openai-responses', String(type))
  if (Array.isArray(message.tool_calls)) readCalls(message.tool_calls, signs)
  if ((role === 'tool' && !isAiSdk) || role === 'function') signs.add('openai-chat', `role ${role}`)
  // Responses items have these roles too, but with a type.
  if ((role === 'system' || role === 'developer') && type === undefined) {
    signs.add('openai-chat', `role ${role}`)
  }
  for (const part of parts) {
    if (!isFields(part)) continue
    const format = partTypes.get(part.type)
    if (format !== undefined) signs.add(format, String(part.type))
    if (part.providerOptions !== undefined) signs.add('ai-sdk', 'providerOptions')
  }
}

/** AI SDK UI messages have parts too, each with a type; Gemini's have none, and the role of an answer is its own. */
function readParts({ role, parts }: Fields, signs: Signs): void {
  const hasTypes = (parts as readonly unknown[]).every((part) => isFields(part) && 'type' in part)
  if (role === 'model') signs.add('gemini', 'role model')
  else if (hasTypes) signs.add('ai-sdk', 'parts')
  else signs.add('gemini', 'parts')
}

/** LangChain calls have parsed arguments under their own name. */
function readCalls(calls: readonly unknown[], signs: Signs): void {
  const isParsed = calls.some((call) => isFields(call) && isFields(call.args))
  if (isParsed) signs.add('langchain', 'tool_calls[].args')
  else signs.add('openai-chat', 'tool_calls')
}

/** True if a value looks like one message or item of any format. */
export function isMessage(value: unknown): value is Fields {
  if (!isFields(value)) return false
  return typeof value.role === 'string' || itemTypes.has(value.type) || isLangchain(value)
}
