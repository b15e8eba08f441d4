// OpenAI chat messages for tests.

interface Said {
  readonly role: string
  readonly content: string
}

interface Called {
  readonly role: 'assistant'
  readonly content: null
  readonly tool_calls: readonly object[]
}

export const user = (content: string): Said => ({ role: 'user', content })

export const said = (content: string): Said => ({ role: 'assistant', content })

/** One message with one tool call per id. */
export const call = (...ids: readonly string[]): Called => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: '{}' },
  })),
})

export const result = (id: string, content: string): Said & { readonly tool_call_id: string } => ({
  role: 'tool',
  tool_call_id: id,
  content,
})
