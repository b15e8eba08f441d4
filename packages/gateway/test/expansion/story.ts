// One story for all tests of expansion: a tool's long result is read, then reduced, and a question needs it again.

import type { Json, JsonObject, PolicyInput, Thread, WireFormat } from 'oriel'
import { dialects, type ToolDefinition } from '../dialect.ts'
import { key } from '../faults/raw-client.ts'
import { type AskOptions, type SdkClient, sdkClient } from '../sdk/sdk-client.ts'
import { openDirect, openGateway, type Target, type TargetOptions } from '../target.ts'
import { type Action, reply, type Texts } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'

export const secret = 'SEAL-48151623'
/** Long enough that the placeholder does not name the secret. */
const original = [
  'The manifest of the ship.',
  ...Array.from({ length: 60 }, (_, index) => `Crate AB-${index} holds tin cups and rope.`),
  `The seal of crate 60 is ${secret}.`,
].join('\n')

export const readTool: ToolDefinition = {
  name: 'read',
  description: 'Reads a document.',
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
}

/** Of the results that the model has seen, only the newest stays. */
export const policy = {
  toolResults: { strategy: 'keepRecent', max: 1, placeholder: 'informative', cutoff: 0 },
  schedule: 'immediate',
} as const satisfies PolicyInput

/** Bodies with signed reasoning, where a format has it. */
const thinking: Readonly<Record<WireFormat, Readonly<Record<string, unknown>>>> = {
  'openai-chat': { stream_options: { include_usage: true } },
  'openai-responses': {},
  anthropic: { thinking: { type: 'enabled', budget_tokens: 1024 } },
  gemini: { generationConfig: { thinkingConfig: { includeThoughts: true } } },
}

/** The id that the first placeholder in a request names: the manifest's. */
export function placeholderId({ body }: Asked): string {
  const found = /\[Omitted: read result[^\]]*?; expand (\w+)\]/.exec(JSON.stringify(body))
  if (found?.[1] === undefined) throw new Error('Nothing in the request was shortened')
  return found[1]
}

export function expandCall(asked: Asked, name = 'expand_message'): readonly [string, string] {
  return [name, JSON.stringify({ id: placeholderId(asked), query: 'seal' })]
}

export type Say = (asked: Asked) => Texts | Action

/** What the upstream says, request by request. */
function script(
  says: readonly Say[],
  gate?: SceneOptions['gate'],
): (asked: Asked) => Promise<Action> {
  return async (asked) => {
    if (gate?.index === asked.index) await gate.open
    const say = says[asked.index]
    if (say === undefined) throw new Error(`Nothing is scripted for request ${asked.index}`)
    const said = say(asked)
    return 'type' in said ? said : reply(said)
  }
}

/** Two documents are read, so that the first one is shortened from then on. */
const opening: readonly Say[] = [
  () => ({ reasoning: 'One.', text: 'Reading.', calls: [['read', '{"id":"manifest"}']] }),
  () => ({ reasoning: 'Two.', calls: [['read', '{"id":"menu"}']] }),
  () => ({ reasoning: 'Done.', text: 'Both read.' }),
]

/** The model calls that the opening takes. */
export const openingCalls = opening.length

/** The model asks for the manifest, and has it. */
export const expansion: readonly Say[] = [
  (asked) => ({ reasoning: 'I need it.', text: 'Looking.', calls: [expandCall(asked)] }),
  ({ body }) => ({
    reasoning: 'There.',
    text: JSON.stringify(body).includes(secret) ? `It is ${secret}.` : 'Unknown.',
  }),
]

export interface Scene {
  readonly target: Target
  readonly ask: SdkClient
  /** What every call has: tools, and whether it is streamed. */
  readonly options: AskOptions
  /** The opening, and the question that needs the manifest again. */
  readonly history: readonly unknown[]
}

export interface SceneOptions extends Omit<TargetOptions, 'answer'> {
  readonly format: WireFormat
  readonly isStream?: boolean
  /** What the model says after the opening. */
  readonly says: readonly Say[]
  /** A request that is answered only when this is open. */
  readonly gate?: { readonly index: number; readonly open: Promise<void> }
  /** The client's tools. @default one that reads */
  readonly tools?: readonly ToolDefinition[]
  /** Manages the client in the process, in the place of a gateway. */
  readonly thread?: Thread
  /** More fields of every body. */
  readonly extra?: Readonly<Record<string, unknown>>
}

/** A gateway with expansion, and a client that has come to the question. */
export async function openScene(scene: SceneOptions): Promise<Scene> {
  const {
    format,
    isStream = false,
    says,
    extra = thinking[format],
    gateway,
    gate,
    tools = [readTool],
    thread,
    ...rest
  } = scene
  const answer = script([...opening, ...says], gate)
  const target =
    thread === undefined
      ? await openGateway({ ...rest, gateway: { policy, expand: true, ...gateway }, answer })
      : await openDirect({ ...rest, answer })
  const ask = sdkClient(format, { url: target.url, key, ...(thread && { thread }) })
  const { stream_options: streamed, ...others } = extra
  const wanted = isStream && streamed !== undefined ? { stream_options: streamed } : {}
  const options = { tools, isStream, extra: { ...others, ...wanted } }
  const before = await tellOpening(format, ask, options)
  const history = [...before, dialects[format].user('What is the seal of crate 60?')]
  return { target, ask, options, history }
}

async function tellOpening(
  format: WireFormat,
  ask: SdkClient,
  options: AskOptions,
): Promise<readonly unknown[]> {
  const dialect = dialects[format]
  let history: readonly unknown[] = [dialect.user('Read the manifest and the menu.')]
  for (let step = 0; step < openingCalls; step++) {
    const told = await ask(history, options)
    history = [...history, ...told.messages]
    const results = told.calls.map((call) => ({
      call,
      text: call.arguments.includes('manifest') ? original : 'Soup.',
    }))
    if (results.length > 0) history = [...history, ...dialect.results(results)]
  }
  return history
}

/** The messages or items of a request. */
export function listOf({ body, format }: Asked): readonly Json[] {
  const list = format === 'openai-responses' ? body.input : body.messages
  return Array.isArray(list) ? list : []
}

/** The messages as they were sent; what the SDK's stream helper adds to an item is its own. */
export function textOf(asked: Asked | undefined): string {
  if (asked === undefined) return 'nothing'
  return JSON.stringify(listOf(asked), (name, value) =>
    name.startsWith('parsed') ? undefined : value,
  )
}

/** A history as clients resend it that do not keep reasoning: of Messages, that of earlier turns; else all of it, with the ids of items. */
export function forgetful(format: WireFormat, history: readonly unknown[]): readonly unknown[] {
  const list = history as readonly JsonObject[]
  if (format === 'openai-chat') return list.map(({ reasoning_content: _thought, ...rest }) => rest)
  if (format === 'openai-responses') {
    return list.flatMap(({ id: _id, status: _status, ...item }) =>
      item.type === 'reasoning' ? [] : [item],
    )
  }
  const asked = list.findLastIndex(
    ({ role, content }) => role === 'user' && !JSON.stringify(content).includes('tool_result'),
  )
  return list.map((message, at) => {
    if (at > asked || message.role !== 'assistant') return message
    const blocks = message.content as readonly JsonObject[]
    return { ...message, content: blocks.filter(({ type }) => type !== 'thinking') }
  })
}
