// A research agent whose search results expire: compacted after two steps, summarized or removed by tool, expanded on request.

import { expandTool, memoryStore, openThread, type Store, type Summarize, type Thread } from 'oriel'

export interface ResearchOptions {
  readonly store?: Store
  /** Calls a small model; without it, first characters serve. */
  readonly summarize?: Summarize
  readonly log?: (line: string) => void
}

export function openResearchThread(options: ResearchOptions = {}): Promise<Thread> {
  const { store = memoryStore(), summarize, log } = options
  // [open]
  return openThread({
    id: 'research',
    store,
    policy: {
      expiry: {
        tools: {
          web_search: { after: 2, mode: 'compact', compact: 'first-chars', length: 500 },
          query_database: { after: 3, mode: 'compact', compact: 'summary', prompt: 'rows' },
          'list_*': { after: 1, mode: 'remove' },
        },
        kinds: { 'sub-agent-result': { after: 3, mode: 'remove' } },
        duplicates: {},
      },
    },
    prompts: {
      rows: {
        name: 'Database rows',
        template:
          'Keep ids, totals and outliers of this {{ messageType }} in {{ targetLength }} characters.',
      },
    },
    ...(summarize === undefined ? {} : { summarize }),
    ...(log === undefined ? {} : { log, verbose: true }),
  })
  // [/open]
}

/** One call of the tool `expand_message`, as a loop answers it. */
export async function answerExpansion(thread: Thread, input: unknown): Promise<string> {
  // [tool]
  const { definition, prompt, handle } = expandTool(thread)
  // `definition` goes into the request's tools, `prompt` into its system text; `handle` makes the call's result.
  const text = await handle(input)
  // [/tool]
  if (definition.name !== 'expand_message' || prompt === '') throw new Error('unexpected')
  return text
}
