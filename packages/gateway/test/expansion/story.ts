// One story for all tests of expansion: a tool's long result is read, then reduced, and a question needs it again.

import type { Json, PolicyInput, WireFormat } from 'oriel'
import { dialects, type ToolDefinition } from '../dialect.ts'
import type { AskOptions, SdkClient } from '../sdk/sdk-client.ts'
import { type Action, reply, type Texts } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'

export const secret = 'SEAL-48151623'
export const original = [
  'The manifest of the ship.',
  ...Array.from({ length: 60 }, (_, index) => `Crate ${index} holds tin cups and rope.`),
  `The seal of crate 60 is ${secret}.`,
].join('\n')

export const readTool: ToolDefinition = {
  name: 'read',
  description: 'Reads a document.',
  parameters: { type: 'object', properties: { id: { type: 'string' } } },
}

/** Results that the model has seen become placeholders at once. */
export const policy: PolicyInput = {
  toolResults: { strategy: 'keepRecent', max: 1, placeholder: 'informative', cutoff: 0 },
  schedule: 'immediate',
}

/** The id that the newest placeholder in a request names. */
export function placeholderId({ body }: Asked): string {
  const found = [...JSON.stringify(body).matchAll(/\[Omitted: [^\]]*?; expand (\w+)\]/g)].at(-1)
  if (found?.[1] === undefined) throw new Error('Nothing in the request was shortened')
  return found[1]
}

export function expandCall(asked: Asked, name = 'expand_message'): readonly [string, string] {
  return [name, JSON.stringify({ id: placeholderId(asked), query: 'seal' })]
}

type Say = (asked: Asked) => Texts | Action

/** What the upstream says, request by request. */
export function script(says: readonly Say[]): (asked: Asked) => Action {
  return (asked) => {
    const say = says[asked.index]
    if (say === undefined) throw new Error(`Nothing is scripted for request ${asked.index}`)
    const said = say(asked)
    return 'type' in said ? said : reply(said)
  }
}

/** The first two turns: two documents are read, so that the first one is shortened from then on. */
export const opening: readonly Say[] = [
  () => ({ reasoning: 'One.', text: 'Reading.', calls: [['read', '{"id":"manifest"}']] }),
  () => ({ reasoning: 'Two.', calls: [['read', '{"id":"menu"}']] }),
  () => ({ reasoning: 'Done.', text: 'Both read.' }),
]

/** Lets a client hold the opening. */
export async function tellOpening(
  format: WireFormat,
  ask: SdkClient,
  options: AskOptions = {},
): Promise<readonly unknown[]> {
  const dialect = dialects[format]
  let history: readonly unknown[] = [dialect.user('Read the manifest and the menu.')]
  for (let step = 0; step < 3; step++) {
    const told = await ask(history, { tools: [readTool], ...options })
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
