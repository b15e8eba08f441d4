// A conversation that outgrows its model: checkpoints, the summarizer behind them, and what to do when a provider refuses.
import { isContextLengthError, openThread, type Store, type Summarize, type Thread } from 'oriel'

/** A host's own model call: one prompt, one block of data, one text back. */
export type Complete = (
  system: string,
  data: string,
) => Promise<{ readonly text: string; readonly stop: string }>

export function summarizerOf(complete: Complete): Summarize {
  return async ({ prompt, text }) => {
    const answer = await complete(prompt, text)
    return { summary: answer.text, finishReason: answer.stop }
  }
}

export async function openLong(
  store: Store,
  complete: Complete,
  onLine: (line: string) => void,
): Promise<Thread> {
  return openThread({
    store,
    policy: { compaction: { contextWindow: 128_000, reserveTokens: 16_384 } },
    summarize: summarizerOf(complete),
    summarizeWindow: 32_000,
    on: ({ type, trigger, messages, tokens, error }) => {
      if (type !== 'compaction-ended') return
      const result = error ?? `${messages?.before} to ${messages?.after} messages`
      onLine(`${trigger}: ${result}, ${tokens?.before} to ${tokens?.after} tokens`)
    },
  })
}

/** One step of an agent: send the view; when it is refused as too long, send a smaller one, once. */
export async function callModel(
  thread: Thread,
  send: (messages: readonly unknown[]) => Promise<unknown>,
): Promise<unknown> {
  const view = await thread.view()
  try {
    return await send(view.messages)
  } catch (error) {
    if (!isContextLengthError(error)) throw error
    const smaller = await thread.recover(error)
    return await send(smaller.messages)
  }
}

export async function byHand(thread: Thread): Promise<number> {
  const { tokensSaved } = await thread.compact({ instructions: 'Keep every order number.' })
  return tokensSaved
}
