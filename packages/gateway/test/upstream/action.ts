// What the scripted upstream does with one request that it accepts.

import type { JsonObject } from 'oriel'
import type { Reply } from 'oriel/providers'

export type Action =
  | {
      readonly type: 'reply'
      readonly reply: Reply
      readonly delivery?: Delivery
      /** Changes a whole answer before it is sent: for what providers say and the demo does not. */
      readonly alter?: (body: JsonObject) => JsonObject
    }
  /** An error in the provider's own words for that status. */
  | {
      readonly type: 'error'
      readonly status: number
      /** Replaces the usual words. */
      readonly message?: string
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Says nothing more, for ever: before the headers, or after them and some events. */
  | {
      readonly type: 'hang'
      readonly after: 'nothing' | 'headers' | 'events'
      readonly reply?: Reply
    }
  /** Ends the connection without an answer. */
  | { readonly type: 'drop' }
  /** A stream of this many bytes of text, as fast as the client reads. */
  | { readonly type: 'flood'; readonly bytes: number }
  | {
      readonly type: 'raw'
      readonly status: number
      readonly headers?: Readonly<Record<string, string>>
      readonly body?: string | Uint8Array
    }

/** How a streamed answer is delivered. A whole answer knows only `cutAfter`, which ends it in the middle. */
export interface Delivery {
  /** Pause before each event after the first. @default 0 */
  readonly eventDelayMs?: number
  /** Ends the connection after so many events. */
  readonly cutAfter?: number
  /** Sends the provider's error event after so many events, then ends. */
  readonly errorAfter?: number
  /** Ends the stream in good order after so many events, without its last ones. */
  readonly endAfter?: number
  /** Sends so many bytes at a time, wherever that cuts. @default whole events */
  readonly chunkBytes?: number
  /** @default '\n' */
  readonly lineEnd?: '\n' | '\r\n'
  /** Puts a comment before every event, as some servers do to keep connections open. @default false */
  readonly hasComments?: boolean
}

export interface Texts {
  readonly text?: string
  readonly reasoning?: string
  readonly redacted?: string
  /** Name and arguments as JSON text. */
  readonly calls?: readonly (readonly [string, string])[]
}

/** An answer in the order of every provider: thinking, text, calls. */
export function reply(said: Texts, delivery?: Delivery): Action {
  return {
    type: 'reply',
    reply: partsOf(said),
    ...(delivery === undefined ? {} : { delivery }),
  }
}

function partsOf({ text, reasoning, redacted, calls = [] }: Texts): Reply {
  return [
    ...(reasoning === undefined ? [] : [{ type: 'reasoning' as const, text: reasoning }]),
    ...(redacted === undefined ? [] : [{ type: 'redacted' as const, data: redacted }]),
    ...(text === undefined ? [] : [{ type: 'text' as const, text }]),
    ...calls.map(([name, args]) => ({ type: 'call' as const, name, arguments: args })),
  ]
}
