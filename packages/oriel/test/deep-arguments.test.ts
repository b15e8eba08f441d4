// Arguments of calls are text that a model wrote: nested so deep, they are valid JSON that nothing can write again.

import { describe, expect, it } from 'vitest'
import { project } from '../src/project.ts'
import { formatNames } from '../src/providers/registry.ts'
import { memoryStore } from '../src/stores/memory/index.ts'
import { openThread } from '../src/thread/thread.ts'

const levels = 20_000
const deep = `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

function chat(text: string): readonly object[] {
  const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: text } }
  return [
    { role: 'user', content: 'Look.' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'c1', content: 'Nothing there.' },
  ]
}

describe('arguments that are nested without end', () => {
  it.each(formatNames)('[I2] are sent as text in %s', (to) => {
    const { messages } = project(chat(deep), undefined, { to })
    const sent = JSON.stringify(messages)
    expect(sent).toContain(JSON.stringify(deep).slice(1, 1000))
    expect(sent).toContain('Nothing there.')
  })

  it('[I10] are known again when a client writes them another way', async () => {
    const thread = await openThread({ store: memoryStore() })
    await thread.sync(chat(deep), { format: 'openai-chat' })
    const again = await thread.sync(chat(` ${deep}`), { format: 'openai-chat' })
    expect(again).toMatchObject({ appended: 0, isForked: false })
  })
})
