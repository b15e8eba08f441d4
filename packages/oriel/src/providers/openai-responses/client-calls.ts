// Calls of OpenAI's Responses, besides functions, that the client answers: a computer, shells, patches, approvals of MCP calls.
// Each is answered by an item of its own type, so a text does not always serve.

import { isObject, type Json, type JsonObject } from '../../core/log/json.ts'

/** An item whose fields are not checked yet. */
type Item = Readonly<Record<string, unknown>>

interface ClientCall {
  /** What rules and other formats know it by. */
  readonly name: string
  /** The type of the item that answers it. */
  readonly answer: string
  /** The fields that say what to do, in the order in which they are looked for. */
  readonly asks: readonly string[]
  /** Whether it may be sent without its item id, so without the reasoning that led to it. */
  readonly canLoseId: boolean
}

const clientCalls: Readonly<Record<string, ClientCall>> = {
  computer_call: {
    name: 'computer',
    answer: 'computer_call_output',
    asks: ['action', 'actions'],
    canLoseId: false,
  },
  local_shell_call: {
    name: 'local_shell',
    answer: 'local_shell_call_output',
    asks: ['action'],
    canLoseId: true,
  },
  shell_call: { name: 'shell', answer: 'shell_call_output', asks: ['action'], canLoseId: true },
  apply_patch_call: {
    name: 'apply_patch',
    answer: 'apply_patch_call_output',
    asks: ['operation'],
    canLoseId: true,
  },
  mcp_approval_request: {
    name: 'mcp_approval',
    answer: 'mcp_approval_response',
    asks: ['arguments'],
    canLoseId: false,
  },
}
const answerTypes: ReadonlySet<unknown> = new Set(
  Object.values(clientCalls).map(({ answer }) => answer),
)

/** What is known of a type of call that the client answers; undefined for any other type. */
export function clientCallOf(type: unknown): ClientCall | undefined {
  return typeof type === 'string' && Object.hasOwn(clientCalls, type)
    ? clientCalls[type]
    : undefined
}

/** Whether items of this type answer such a call. */
export function isClientAnswer(type: unknown): boolean {
  return answerTypes.has(type)
}

/** The field that pairs a call and what answers it. */
export function pairField(type: unknown): 'call_id' | 'id' | 'approval_request_id' {
  if (type === 'mcp_approval_request') return 'id'
  return type === 'mcp_approval_response' ? 'approval_request_id' : 'call_id'
}

/** What pairs a call and its output, whatever the field is called. */
export function pairIdOf(item: Item): unknown {
  return item[pairField(item.type)]
}

/** The text of what the client is asked to do, for those who read arguments. */
export function asked(item: JsonObject, { asks }: ClientCall): string {
  const field = asks.find((name) => Object.hasOwn(item, name))
  const value = field === undefined ? {} : (item[field] as Json)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What an answer says, as far as it is text. */
export function answeredText(item: JsonObject): string {
  const { output, status, approve, reason } = item
  if (item.type === 'mcp_approval_response') {
    const verdict = approve === true ? 'approved' : 'denied'
    return typeof reason === 'string' ? `${verdict}: ${reason}` : verdict
  }
  if (Array.isArray(output)) return output.flatMap(spoken).join('\n')
  if (typeof output === 'string') return output
  return item.type === 'apply_patch_call_output' && typeof status === 'string' ? status : ''
}

/** The text of a part, or of one command's output. */
function spoken(part: Json): readonly string[] {
  if (!isObject(part)) return []
  return [part.text, part.stdout, part.stderr].filter(
    (text): text is string => typeof text === 'string' && text !== '',
  )
}

/** Whether an answer can be sent: nothing but a picture answers a call of a computer. */
export function isSendable({ type, output }: Item): boolean {
  return type !== 'computer_call_output' || isObject(output)
}

/** The answer with a shorter text: whether it went well stays, and a yes or a no stays without its reason. */
export function reducedAnswer(
  answer: JsonObject,
  { id, text }: { readonly id: string; readonly text: string },
): JsonObject {
  const type = String(answer.type)
  const { approve, status, output } = answer
  if (type === 'mcp_approval_response') {
    return { type, [pairField(type)]: id, ...(approve === undefined ? {} : { approve }) }
  }
  const reduced = answerWith(text, { type, id })
  if (type === 'apply_patch_call_output' && typeof status === 'string') {
    return { ...reduced, status }
  }
  const outcome = Array.isArray(output) && isObject(output[0]) ? output[0].outcome : undefined
  if (type !== 'shell_call_output' || !isObject(outcome)) return reduced
  return { ...reduced, output: [{ stdout: text, stderr: '', outcome: outcome as JsonObject }] }
}

/** An answer of this type with another text. Check it with `isSendable`. */
export function answerWith(text: string, { type, id }: { type: string; id: string }): JsonObject {
  const paired = { type, [pairField(type)]: id }
  switch (type) {
    case 'shell_call_output': {
      const outcome = { type: 'exit', exit_code: 0 }
      return { ...paired, output: [{ stdout: text, stderr: '', outcome }] }
    }
    case 'apply_patch_call_output':
      return { ...paired, status: 'completed', output: text }
    default:
      return { ...paired, output: text }
  }
}
