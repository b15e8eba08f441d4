import { describe, expect, it } from 'vitest'
import type { Block } from '../../core/log/block.ts'
import { enrich } from './enrich.ts'
import type { Contribution, Plugin } from './plugin.ts'

const plugin = (name: string, ...contributions: Contribution[]): Plugin => ({
  name,
  message: async () => contributions,
})
const adds = (
  saveToChatHistory: boolean | number,
  displayOnCurrentMessage: boolean,
  ...texts: string[]
): Contribution => ({
  saveToChatHistory,
  displayOnCurrentMessage,
  content: texts.map((text) => ({ type: 'text', text })),
})
const user = { role: 'user', content: 'U' } as const

/** A block as the source's table writes it: H(x), s, or its text; behind it the number it lives for. */
const short = (block: Block): string => {
  const text = block.type === 'text' ? block.text : block.type
  const header = /^\n### PLUGIN (.+) CONTEXT ###\n$/.exec(text)?.[1]
  const name = header === undefined ? (text === '\n' ? 's' : text) : `H(${header})`
  const { lifetime } = block
  return lifetime === undefined ? name : `${name}:${'newer' in lifetime ? lifetime.newer : '?'}`
}
const both = async (plugins: readonly Plugin[], message: Parameters<typeof enrich>[0] = user) => {
  const { display, persistent } = await enrich(message, plugins)
  return [display, persistent].map(({ content }) => content.map(short).join(' '))
}

describe('the two renditions of a message (document 000)', () => {
  it.each([
    { title: 'no plugins', plugins: [], display: 'U', persistent: 'U' },
    { title: 'nothing added', plugins: [plugin('A')], display: 'U', persistent: 'U' },
    {
      title: 'shown now only',
      plugins: [plugin('A', adds(false, true, 'txt'))],
      display: 'U H(A) txt s',
      persistent: 'U',
    },
    {
      title: 'kept for ever, not shown now',
      plugins: [plugin('B', adds(true, false, 'txt'))],
      display: 'U',
      persistent: 'U H(B) txt s',
    },
    {
      title: 'kept for a number',
      plugins: [plugin('C', adds(3, false, 'txt'))],
      display: 'U',
      persistent: 'U H(C):3 txt:3 s:3',
    },
    {
      title: 'a label with a slash',
      plugins: [{ ...plugin('x', adds(3, true, 'txt')), label: 'a / b' }],
      display: 'U H(a / b) txt s',
      persistent: 'U H(a / b):3 txt:3 s:3',
    },
    {
      title: 'shown and kept for ever',
      plugins: [plugin('D', adds(true, true, 'txt'))],
      display: 'U H(D) txt s',
      persistent: 'U H(D) txt s',
    },
    {
      title: 'two texts in one contribution',
      plugins: [plugin('E', adds(5, true, 't1', 't2'))],
      display: 'U H(E) t1 t2 s',
      persistent: 'U H(E):5 t1:5 t2:5 s:5',
    },
    {
      title: 'several plugins, mixed',
      plugins: [
        plugin('1', adds(false, true, 'a')),
        plugin('3', adds(2, true, 'b1'), adds(true, true, 'b2')),
        plugin('4', adds(4, false, 'c')),
        plugin('2', adds(true, false, 'd')),
      ],
      display: 'U H(1) a s H(3) b1 s b2 s',
      persistent: 'U H(3) b1:2 s:2 b2 s H(4):4 c:4 s:4 H(2) d s',
    },
    {
      title: 'the header lives as long as the longest',
      plugins: [plugin('F', adds(2, false, 'a'), adds(5, false, 'b'), adds(1, false, 'c'))],
      display: 'U',
      persistent: 'U H(F):5 a:2 s:2 b:5 s:5 c:1 s:1',
    },
    {
      title: 'two that only show',
      plugins: [plugin('A', adds(false, true, 'a')), plugin('B', adds(false, true, 'b'))],
      display: 'U H(A) a s H(B) b s',
      persistent: 'U',
    },
    {
      title: '0 keeps nothing; an empty content adds nothing, not even its header',
      plugins: [plugin('A', adds(0, true), adds(true, true, '')), plugin('B', adds(0, true, 'b'))],
      display: 'U H(B) b s',
      persistent: 'U',
    },
  ])('[L1] $title', async ({ plugins, display, persistent }) => {
    expect(await both(plugins)).toEqual([display, persistent])
  })

  it('[L1] the own blocks come first, as they are, pictures too', async () => {
    const message = {
      role: 'user',
      content: [
        { type: 'text', text: 'U1' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
    } as const
    const plugins = [plugin('G', adds(1, true, 'p1', 'p2'), adds(true, true, 'q'))]
    expect(await both(plugins, message)).toEqual([
      'U1 image H(G) p1 p2 s q s',
      'U1 image H(G) p1:1 p2:1 s:1 q s',
    ])
  })

  it('[L1] the unit of a number is said by the caller; the source knew its image type as mimeType', async () => {
    const content = [{ type: 'image', mimeType: 'image/png', data: 'AA' }] as unknown as Block[]
    const screen = plugin('S', { saveToChatHistory: 2, displayOnCurrentMessage: false, content })
    const { persistent } = await enrich(user, [screen], { unit: 'steps' })
    expect(persistent.content[2]).toEqual({
      type: 'image',
      mediaType: 'image/png',
      data: 'AA',
      lifetime: { steps: 2 },
    })
  })
})

describe('a plugin that fails', () => {
  const failures = async (bad: Plugin) => {
    const told: string[] = []
    const good = plugin('good', adds(true, true, 'ok'))
    const { persistent } = await enrich(user, [bad, good], {
      onFailure: (name, reason) => told.push(`${name}: ${reason}`),
    })
    expect(persistent.content.map(short).join(' ')).toBe('U H(good) ok s')
    return told
  }

  it('[L2] one that throws or rejects adds nothing, and its words are not repeated', async () => {
    const secret = (): never => {
      throw new TypeError('the password is 1234')
    }
    expect(await failures({ name: 'bad', message: secret })).toEqual(['bad: threw TypeError'])
    const rejecting = { name: 'bad', message: () => Promise.reject(new Error('no')) }
    expect(await failures(rejecting)).toEqual(['bad: threw Error'])
  })

  it('[L1] nothing, however it is written, is nothing to add and no failure', async () => {
    const failures: string[] = []
    const plugins = [null, undefined, false, 0, ''].map((nothing, index) => ({
      name: `p${index}`,
      // What callers without types may answer.
      message: async () => nothing as unknown as null,
    }))
    const { display, persistent } = await enrich(user, plugins, {
      onFailure: (name, reason) => failures.push(`${name}: ${reason}`),
    })
    expect([display.content, persistent.content].map((blocks) => blocks.map(short))).toEqual([
      ['U'],
      ['U'],
    ])
    expect(failures).toEqual([])
  })

  it('[L2] one that hangs is left behind, and told so by its signal', async () => {
    let isAborted = false
    const hanging: Plugin = {
      name: 'bad',
      timeoutMs: 5,
      message: (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => {
            isAborted = true
          })
        }),
    }
    expect(await failures(hanging)).toEqual(['bad: took longer than 5 ms'])
    expect(isAborted).toBe(true)
  })

  it.each([-1, Number.NaN, 1.5, Infinity, '2', null])(
    '[L2] one that wants to be kept for %s adds nothing',
    async (save) => {
      const bad = plugin('bad', adds(save as number, true, 'x'))
      const [told] = await failures(bad)
      expect(told).toMatch(/^bad: answered wrongly: contributions\[0\]\.saveToChatHistory must be/)
    },
  )

  it.each([
    ['no list', 'text'],
    ['no object', [7]],
    ['no blocks', [{ displayOnCurrentMessage: true, content: [{ type: 'text' }] }]],
    ['a call', [{ content: [{ type: 'tool-call', callId: 'c', name: 'n', arguments: '{}' }] }]],
    ['a flag that is none', [{ displayOnCurrentMessage: 'yes', content: 'x' }]],
  ])('[L2] one that answers with %s adds nothing', async (_, answer) => {
    const bad = { name: 'bad', message: () => answer as unknown as Contribution[] }
    expect((await failures(bad))[0]).toMatch(/^bad: /)
  })

  it('[L2] what a plugin does to the message it gets changes nothing', async () => {
    const message = { role: 'user', content: [{ type: 'text', text: 'U' }] } as const
    const vandal: Plugin = {
      name: 'v',
      message: (own) => {
        ;(own as { content: unknown }).content = []
        return null
      },
    }
    expect(await both([vandal, plugin('A', adds(true, false, 'a'))], message)).toEqual([
      'U',
      'U H(A) a s',
    ])
    expect(message.content).toHaveLength(1)
  })

  it('[L2] plugins that cannot be told apart are refused', async () => {
    const twice = [plugin('a'), plugin('a')]
    await expect(enrich(user, twice)).rejects.toMatchObject({
      code: 'invalid-option',
      path: 'plugins[1].name',
    })
    await expect(enrich(user, [{ name: '' }])).rejects.toMatchObject({ code: 'invalid-option' })
    await expect(enrich(user, [{ name: 'a', timeoutMs: 0 }])).rejects.toMatchObject({
      path: 'plugins[0].timeoutMs',
    })
  })
})
