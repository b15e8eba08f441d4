// Anthropic's SDK: a client whose messages are managed.

import { anthropic } from '../providers/anthropic/index.ts'
import { type ClientLike, type ManagedClientOptions, managedClient } from './managed-fetch.ts'

export {
  type ClearableRequest,
  type ClearedToolUses,
  type ClearToolUsesEdit,
  type ClearToolUsesOptions,
  clearToolUses,
} from './clear-tool-uses.ts'
export type { ManagedClientOptions }

/**
 * The same client with its context managed: `messages`, with all helpers, streaming or not.
 *
 * - The model gets the view of the thread; send the whole history or only what is new.
 * - Answers and usage are recorded in the thread. After a context-length error a smaller view is sent, once.
 * - An answer that Anthropic paused (`pause_turn`) or that the request begins continues in the thread; without a thread such requests pass
 *   unmanaged, as do those whose history Anthropic holds, counting, batches and everything else.
 * - A client that is managed already is refused: manage the one that it was made from.
 */
export function managed<C extends ClientLike<C>>(client: C, options: ManagedClientOptions): C {
  return managedClient(client, options, [anthropic])
}
