// The tools that the gateway adds to a request and answers itself: what each one says to a call.

import { type ExpandTool, expandTool, searchTool, type Thread } from 'oriel'

/** One tool of the gateway in a request. */
export interface OwnTool {
  /** Its name in the request. */
  readonly name: string
  /** What stands in front of the reason where a call is not answered, for example `Not expanded`. */
  readonly refusal: string
  /** Answers a call, in the branch of the conversation that has it. Never throws on what a model may write. */
  answer(thread: Thread, input: unknown): Promise<string>
}

const brokenOff = 'the call was cut off.'

/** The tool for originals. It counts what is asked for again, so that there is one for each request of a client. */
export function expandingTool(name: string): OwnTool {
  let branch: Thread | undefined
  let tool: ExpandTool | undefined
  const refusal = 'Not expanded'
  return {
    name,
    refusal,
    answer(thread, input) {
      branch = thread
      tool ??= expandTool({
        expand: async (id, options) =>
          (await branch?.expand(id, options)) ?? { ok: false, reason: `${refusal}: ${brokenOff}` },
      })
      return tool.handle(input)
    },
  }
}

/** The tool that finds what was left out. */
export function searchingTool(name: string): OwnTool {
  return {
    name,
    refusal: 'Not searched',
    answer: (thread, input) => searchTool(thread).handle(input),
  }
}

/** What a model reads in place of an answer. */
export const refusals = {
  cut: brokenOff,
  many: 'no more lookups for this answer. Go on with what you have.',
  much: 'too much at once; ask for lines or a query.',
} as const
