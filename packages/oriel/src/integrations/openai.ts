// OpenAI's SDK: a client whose chat completions and responses are managed. Works with every server that speaks the same.

import { openaiChat } from '../providers/openai-chat/index.ts'
import { openaiResponses } from '../providers/openai-responses/index.ts'
import { type ClientLike, type ManagedClientOptions, managedClient } from './managed-fetch.ts'

export type { ManagedClientOptions }

/**
 * The same client with its context managed: `chat.completions` and `responses`, with all their helpers, streaming or not.
 *
 * - The model gets the view of the thread; send the whole history or only what is new.
 * - Answers and usage are recorded in the thread. After a context-length error a smaller view is sent, once.
 * - Requests of whose history OpenAI holds a part (`previous_response_id`, `conversation`, `prompt`, references to items) and several
 *   choices (`n`) pass unmanaged.
 * - A client that is managed already is refused: manage the one that it was made from.
 */
export function managed<C extends ClientLike<C>>(client: C, options: ManagedClientOptions): C {
  return managedClient(client, options, [openaiChat, openaiResponses])
}
