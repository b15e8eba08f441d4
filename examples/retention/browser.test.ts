import { validate } from 'oriel'
import { describe, expect, it } from 'vitest'
import { openBrowserThread, type Page } from './browser.ts'

describe('a browser as a plugin', () => {
  it('shows labels now, the page for two more messages, and the address for ever', async () => {
    let page: Page = { url: 'https://a.example/0', text: 'page 0', buttons: ['Buy', 'Back'] }
    const thread = await openBrowserThread(() => page)
    const seen: string[] = []
    for (let n = 0; n < 4; n++) {
      page = { url: `https://a.example/${n}`, text: `text of page ${n}`, buttons: ['Buy', 'Back'] }
      await thread.append({ role: 'user', content: `question ${n}` })
      const view = await thread.view()
      expect(validate('openai-chat', { messages: view.messages })).toEqual([])
      seen.push(JSON.stringify(view.messages))
      await thread.append({ role: 'assistant', content: `answer ${n}` })
    }
    expect(seen[0]).toContain('[0] Buy')
    expect(seen[0]).not.toContain('text of page 0')
    expect(seen[1]).toContain('text of page 0')
    expect(seen[1]).toContain('visited https://a.example/0')
    expect(seen[2]).toContain('text of page 0')
    expect(seen[3]).not.toContain('text of page 0')
    expect(seen[3]).toContain('text of page 1')
    expect(seen[3]).toContain('visited https://a.example/0')
    expect((seen[3] as string).split('[0] Buy')).toHaveLength(2)
    expect(seen[3]).toContain('You see the page that is open.')
    const { body, exact } = await thread.requestAt(2)
    expect(exact).toBe(true)
    expect(JSON.stringify(body.messages)).toBe(seen[1])
  })
})
