import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { MessageEntry } from '../log/entry.ts'
import { estimate } from '../tokens/estimate.ts'
import { Memory, piecesOf, valuesOf, valuesShown } from './memory.ts'

const message = (seq: number, role: 'user' | 'assistant' | 'tool', text: string): MessageEntry => ({
  type: 'message',
  id: `e${seq}` as MessageEntry['id'],
  seq,
  at: 0,
  turn: 1,
  step: Math.ceil(seq / 2),
  role,
  origin: role === 'tool' ? 'tool' : role,
  blocks:
    role === 'tool'
      ? [{ type: 'tool-result', callId: 'c', content: text }]
      : [{ type: 'text', text }],
})

/** The agent's own work: a call. */
const working = (seq: number, text: string): MessageEntry => ({
  ...message(seq, 'assistant', ''),
  blocks: [{ type: 'tool-call', callId: 'c', name: 'run', arguments: JSON.stringify({ text }) }],
})

const request = { step: 10, lines: 200, values: 40, visible: new Set<string>(), counter: estimate }

describe('values', () => {
  test('[ME1] ids, paths, names, addresses, definitions and phrases are values; plain words are none', () => {
    const line =
      'Order #W2378156 for yusuf_rossi_9620 (yusuf@example.com): see src/shop/order.ts, shop.cart.total, __iter__ and 48213 items'
    expect(valuesOf(line)).toEqual([
      '#W2378156',
      'yusuf_rossi_9620',
      'yusuf@example.com',
      'src/shop/order.ts',
      'shop.cart.total',
      '__iter__',
      '48213',
    ])
    expect(valuesOf('class Lazy: raise Failure("no such user")')).toEqual([
      'class Lazy',
      'no such user',
    ])
    expect(valuesOf('nothing to be found here, Sir')).toEqual([])
  })

  test('[ME1] long lines are cut at separators into pieces that lose nothing but blanks', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 900 }), (text) => {
        const pieces = [...piecesOf(text)]
        expect(pieces.every((piece) => piece.length <= 200)).toBe(true)
        expect(pieces.join('').replaceAll(/\s/g, '')).toBe(text.replaceAll(/\s/g, ''))
      }),
    )
  })

  test('[ME1] a megabyte without any separator is looked at once, not once for each character', () => {
    const text = 'a'.repeat(1_000_000)
    expect([...piecesOf(text)].length).toBe(1000)
    expect(valuesShown([{ type: 'text', text: 'a/'.repeat(100_000) }])).toEqual([])
  })
})

describe('the memory of facts', () => {
  test('[ME2] it keeps lines with their words, under the entry they came from', () => {
    const memory = new Memory(estimate)
    memory.add(message(2, 'tool', 'plain words only\nfile src/app/main.ts exports startServer'))
    expect(memory.compose(request).text).toBe('e2:\nfile src/app/main.ts exports startServer')
  })

  test('[ME2] what the agent used again and again comes before what it saw once', () => {
    const memory = new Memory(estimate)
    memory.add(message(2, 'tool', 'reservation ABC123 is open\nreservation XYZ789 is closed'))
    memory.add(message(3, 'assistant', 'I look at XYZ789'))
    memory.add(message(5, 'assistant', 'XYZ789 again'))
    const { text } = memory.compose({ ...request, lines: 8, values: 0 })
    expect(text).toBe('e2:\nreservation XYZ789 is closed')
  })

  test('[ME2] what the view shows anyway is not repeated', () => {
    const memory = new Memory(estimate)
    memory.add(message(2, 'tool', 'reservation ABC123 is open'))
    expect(memory.compose({ ...request, visible: new Set(['ABC123']) }).text).toBe('')
  })

  test('[ME2] values for which no line has room stand alone', () => {
    const memory = new Memory(estimate)
    memory.add(message(2, 'tool', 'reservation ABC123 is open'))
    expect(memory.compose({ ...request, lines: 0 }).text).toBe('Also seen: ABC123')
  })

  test('[ME5] a value inside another one that is shown is not repeated', () => {
    const memory = new Memory(estimate)
    const paths = ['/repo/src/shop/order.ts', 'shop/order.ts', 'src/shop', 'order.ts']
    for (const [index, path] of paths.entries()) memory.add(message(index, 'tool', path))
    expect(memory.compose({ ...request, lines: 0 }).text).toBe('Also seen: /repo/src/shop/order.ts')
    const visible = new Set(['/work/repo/src/shop/order.ts'])
    expect(memory.compose({ ...request, lines: 0, visible }).text).toBe('')
    expect(memory.compose({ ...request, lines: 0, visible: new Set(['preorder.ts']) }).text).toBe(
      'Also seen: /repo/src/shop/order.ts',
    )
  })

  test("[ME5] the agent's own wording is left out; files that it made and names that it uses stay", () => {
    const memory = new Memory(estimate)
    memory.add(working(1, 'write "Testing the parser:" to check_parser.py, lineCount'))
    memory.add(message(2, 'tool', 'expected "a closing bracket", got end_of_file'))
    memory.add(working(3, 'parseLine calls parseToken'))
    memory.add(working(5, 'parseLine again'))
    memory.add(message(7, 'assistant', 'The key is spare_key.'))
    expect(memory.compose({ ...request, lines: 0 }).text).toBe(
      'Also seen: spare_key end_of_file parseLine check_parser.py "a closing bracket"',
    )
  })

  test('[ME6] the lines of one source stand together, in the order of the file', () => {
    const memory = new Memory(estimate)
    const source = (seq: number) => ({ name: 'src/cart.ts', seq })
    memory.add(
      message(2, 'tool', '40: addItem(cart)\n7- import { sumOf }\n12- emptyCart()'),
      source(1),
    )
    memory.add(message(4, 'tool', 'order ABC123 is open'))
    memory.add(message(6, 'tool', '9- removeItem(cart)\nnoNumberHere()'), source(5))
    const { text, data } = memory.compose(request)
    const expected = [
      'src/cart.ts:',
      '7- import { sumOf }',
      '9- removeItem(cart)',
      '12- emptyCart()',
      '40: addItem(cart)',
      'noNumberHere()',
      'e4:',
      'order ABC123 is open',
    ].join('\n')
    expect(text).toBe(expected)
    expect(new Memory(estimate, structuredClone(data)).compose(request).text).toBe(expected)
  })

  test('[ME6] numbers in a row are a range', () => {
    const memory = new Memory(estimate)
    const numbers = ['1203', '1200', '1201', '4711', '1202', '3.1415', '88001234']
    for (const [index, number] of numbers.entries()) memory.add(message(index, 'tool', number))
    expect(memory.compose({ ...request, lines: 0 }).text).toBe(
      'Also seen: 88001234 1200-1203 4711 3.1415',
    )
  })

  test('[ME3] it goes on from its own data, and ignores what is not its own', () => {
    const first = new Memory(estimate)
    first.add(message(2, 'tool', 'reservation ABC123 is open'))
    const { data } = first.compose(request)
    const second = new Memory(estimate, structuredClone(data))
    second.add(message(4, 'tool', 'reservation XYZ789 is closed'))
    expect(second.compose(request).text).toBe(
      'e2:\nreservation ABC123 is open\ne4:\nreservation XYZ789 is closed',
    )
    for (const odd of [null, 3, 'x', [], { lines: 3, values: [[1]] }, { lines: [[1, 2]] }]) {
      expect(new Memory(estimate, odd).compose(request).text).toBe('')
    }
  })

  test('[ME3] text and data stay within their budgets however much is added', () => {
    const words = fc.array(fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 30 }), {
      maxLength: 60,
    })
    fc.assert(
      fc.property(fc.array(words, { maxLength: 8 }), fc.nat(400), (texts, lines) => {
        let data: ReturnType<Memory['compose']>['data'] | undefined
        for (const [index, text] of texts.entries()) {
          const memory = new Memory(estimate, data)
          memory.add(message(index * 2 + 1, 'tool', text.join('\n')))
          const composed = memory.compose({ ...request, lines, values: 20 })
          const body = composed.text
            .split('\n')
            .filter((line) => line !== '' && !/^e\d+:$|^Also seen/.test(line))
          const used = body.reduce((sum, line) => sum + estimate.count(line) + 1, 0)
          expect(used).toBeLessThanOrEqual(lines)
          expect(composed).toEqual(memory.compose({ ...request, lines, values: 20 }))
          data = composed.data
        }
      }),
    )
  })
})
