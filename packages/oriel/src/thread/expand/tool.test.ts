import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../stores/memory/index.ts'
import { openThread } from '../thread.ts'
import { expandTool } from './tool.ts'

describe('the tool that expands', () => {
  const lines = Array.from({ length: 60 }, (_, n) => `line ${n}`).join('\n')
  const call = (id: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name: 'read', arguments: '{}' } }],
  })
  const open = async () => {
    const policy = { toolResults: { strategy: 'dropAll', cutoff: 0 } } as const
    const thread = await openThread({ id: 't', store: memoryStore(), policy })
    const result = { role: 'tool', tool_call_id: 'c', content: lines }
    const messages = [
      { role: 'user', content: 'go' },
      call('c'),
      result,
      { role: 'assistant', content: 'ok' },
    ]
    await thread.append(messages, { format: 'openai-chat' })
    const view = await thread.view<{ content: string }>()
    const id = /expand (e\w+)/.exec(view.messages[2]?.content ?? '')?.[1] ?? ''
    return { tool: expandTool(thread), id }
  }

  it('[X2] answers with the original that a placeholder names, whole or in part', async () => {
    const { tool, id } = await open()
    expect(await tool.handle({ id })).toBe(lines)
    expect(await tool.handle(JSON.stringify({ id, lines: [1, 2] }))).toBe('line 1\nline 2')
    expect(await tool.handle({ id, query: 'line 59' })).toBe('59: line 59')
    expect(tool.definition.parameters).toMatchObject({ required: ['id'] })
  })

  it("[X5] tells document 001's step without an index that it is out of bounds", async () => {
    const { tool } = await open()
    const step = { step: 'ExpandMessage' }
    const shapes = [step, { type: 'expand-message', reason: 'x' }, { nextStep: step }]
    for (const shape of shapes) {
      expect(await tool.handle(shape)).toBe(
        'Not expanded: the messageIndex is out of bounds. Do not request this expansion again.',
      )
    }
  })

  it('[X2] tells the model why not, and ends a loop', async () => {
    const { tool, id } = await open()
    for (const wrong of [{}, null, 7, 'no json', { id: 5 }]) {
      expect(await tool.handle(wrong)).toMatch(/^Not expanded: the arguments need an id/)
    }
    expect(await tool.handle({ id: 'e1zzz' })).toMatch(
      /^Not expanded: nothing here has the id e1zzz/,
    )
    expect(await tool.handle({ id, lines: [5, 1] })).toMatch(/^Not expanded: lines must be/)
    expect(await tool.handle({ id, lines: 'all' })).toMatch(/^Not expanded: lines must be/)
    for (let times = 0; times < 3; times++) await tool.handle({ id })
    expect(await tool.handle({ id })).toMatch(/Do not request this expansion again/)
  })
})
