import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutBinary } from '../core/text/binary.ts'
import { resolveCounter } from '../counters.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { project } from '../project.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { call, result, user } from '../testing/chat.ts'
import { expandTool } from '../thread/expand/tool.ts'
import { openThread } from '../thread/thread.ts'

/** Bytes without a pattern, always the same. */
function bytes(count: number): Uint8Array {
  let state = 7
  return Uint8Array.from({ length: count }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return (state >> 16) & 0xff
  })
}

const data = Buffer.from(bytes(52_500))
const base64 = data.toString('base64')
const wrapped = base64.replaceAll(/.{76}/g, '$&\n')
const outputs: readonly (readonly [string, string])[] = [
  ['base64', base64],
  ['base64 in lines', wrapped],
  ['base64 in JSON', JSON.stringify({ type: 'image', data: base64, name: 'chart.png' })],
  ['a data URL', `data:image/png;base64,${base64}`],
  ['hexadecimal', data.toString('hex')],
  ['control bytes', data.toString('latin1')],
  ['bytes that were read as UTF-8', data.toString('utf8')],
]
const policies: readonly (readonly [string, PolicyInput])[] = [
  ['toolOutput: {}', { toolOutput: {} }],
  ['recommended', 'recommended'],
]

function shown(text: string, policy: PolicyInput): string {
  const history = [user('Read it.'), call('c1'), result('c1', text)]
  return String((project(history, policy).messages[2] as { content?: unknown }).content)
}

describe.each(policies)('binary output under %s', (_, policy) => {
  it.each(outputs)('[B8] %s is a short notice with its size and handle', (_kind, output) => {
    const text = shown(output, policy)
    expect(resolveCounter(undefined).count(text)).toBeLessThan(100)
    expect(text).toMatch(/\[(base64|hexadecimal|binary data): \d+ characters\]/)
    expect(text).toMatch(/expand e\w+\]$/)
  })
})

describe('binary output', () => {
  it('[B8] what stands around it stays, and the whole can be read back', async () => {
    const output = `Saved the chart.\n${base64}\nDone in 3 s.`
    const thread = await openThread({ store: memoryStore(), policy: 'recommended' })
    await thread.append([user('Draw it.'), call('c1'), result('c1', output)])
    const { messages, trace } = await thread.view()
    expect((messages[2] as { content?: unknown }).content).toBe(
      `Saved the chart.\n[base64: 70000 characters]\nDone in 3 s.\n[bytes left out of ${output.length} characters; expand ${trace[0]?.id}]`,
    )
    expect(await thread.expand(trace[0]?.id ?? '')).toEqual({ ok: true, text: output })
  })

  it('[B8] is shown within the limits where the policy keeps it', () => {
    expect(shown(base64, { toolOutput: { binary: 'keep' } }).length).toBeGreaterThan(50_000)
  })

  it('[B8] text, code, logs with colors, tables of numbers and long keys are left alone', () => {
    const words = 'The build failed in src/core/text/clip.ts, line 42: expected 3, got 4.\n'
    const key = base64.slice(0, 4000)
    const texts = [
      words.repeat(200),
      '\u001b[32mok\u001b[0m 12 tests\n'.repeat(500),
      Array.from({ length: 900 }, (_, row) => `${row}\t${row * row}\t${row ** 3}`).join('\n'),
      `token: ${key}\n${words.repeat(20)}`,
      'x'.repeat(9000),
      'src/components/very/long/path/without/any/digit/'.repeat(200),
      '这是一个很长的句子。'.repeat(900),
    ]
    expect(texts.map(withoutBinary)).toEqual(texts.map(() => undefined))
  })

  it('[B8] stays within every tight limit, also one that is as long as its notice', () => {
    for (let limit = 1; limit <= 120; limit++) {
      const [text = ''] = outputs.map(([, output]) => output.slice(0, 20_000))
      const policies = [
        { maxChars: limit },
        { maxBytes: limit },
        { maxChars: limit, maxBytes: limit },
      ]
      for (const toolOutput of policies) {
        expect(shown(text, { toolOutput }).length).toBeLessThanOrEqual(limit)
      }
    }
  })

  it('[B8] stays within the limits of any size', () => {
    const limit = fc.integer({ min: 1, max: 4000 })
    const output = fc.constantFrom(...outputs.map(([, text]) => text.slice(0, 20_000)))
    fc.assert(
      fc.property(limit, limit, output, (maxChars, maxBytes, text) => {
        const form = shown(text, { toolOutput: { maxChars, maxBytes } })
        expect(form.length).toBeLessThanOrEqual(maxChars)
        expect(Buffer.byteLength(form)).toBeLessThanOrEqual(maxBytes)
      }),
    )
  })
})

describe('a spilled output', () => {
  const lines = Array.from({ length: 60_000 }, (_, row) => `row ${row}: ${row * 7919}`).join('\n')

  it('[B9] is expanded whole when asked for without a range', async () => {
    const thread = await openThread({ store: memoryStore(), policy: { toolOutput: {} } })
    await thread.append([user('Read it.'), call('c1'), result('c1', lines)])
    const { messages, trace } = await thread.view()
    expect(JSON.stringify(messages[2])).toContain(`tool output too large: ${lines.length} chars`)
    expect(await thread.expand(trace[0]?.id ?? '')).toEqual({ ok: true, text: lines })
    expect(await thread.expand(trace[0]?.id ?? '', { inPlace: true })).toMatchObject({ ok: true })
    expect((await thread.view()).messages[2]).toMatchObject({ content: lines })
  })

  it('[B9] is read in pages by the tool, each of which names the next', async () => {
    const thread = await openThread({ store: memoryStore(), policy: { toolOutput: {} } })
    await thread.append([user('Read it.'), call('c1'), result('c1', lines)])
    const { trace } = await thread.view()
    const tool = expandTool(thread)
    const next = / more characters; to read on, ask for chars \[(\d+), (\d+)\] \.\.\.\]$/
    let chars: readonly number[] | undefined
    let read = ''
    for (let page = 0; page < 20; page++) {
      const answer = await tool.handle({ id: trace[0]?.id, ...(chars && { chars }) })
      const more = next.exec(answer)
      read += more === null ? answer : answer.slice(0, answer.lastIndexOf('\n[... '))
      if (more === null) break
      chars = [Number(more[1]), Number(more[2])]
    }
    expect(read).toBe(lines)
  })

  it('[B9] refuses a length of a page that is none', async () => {
    const thread = await openThread({ store: memoryStore(), policy: { toolOutput: {} } })
    await thread.append([user('Read it.'), call('c1'), result('c1', lines)])
    const id = (await thread.view()).trace[0]?.id ?? ''
    for (const maxChars of [0, -1, 1.5, Number.NaN]) {
      expect(await thread.expand(id, { maxChars })).toMatchObject({
        ok: false,
        reason: 'Not expanded: maxChars must be a whole number above 0.',
      })
    }
    const page = await thread.expand(id, { maxChars: 10 })
    expect(page).toMatchObject({
      ok: true,
      text: expect.stringContaining(`chars [10, ${lines.length - 1}]`),
    })
  })
})
