import { createRequire } from 'node:module'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { describe, expect, test } from 'vitest'
import { describeRecorded, type RecordedConversation } from '../../../../../scripts/recorded.ts'
import { estimate } from './estimate.ts'
import { plainWordTokens, rarePairs, wordTokens } from './estimate-prices.ts'
import { mergingIdeographs, mergingSyllables } from './estimate-scripts.ts'

const options = { disallowedSpecial: new Set<string>() }
const exact = (text: string): number => countTokens(text, options)
const ratio = (text: string): number => estimate.count(text) / exact(text)

const anyCodeUnits = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 60 })
  .map((codes) => String.fromCharCode(...codes))
const anyText = fc.oneof(
  anyCodeUnits,
  fc.string({ unit: 'grapheme', maxLength: 60 }),
  fc.string({ unit: 'binary-ascii', maxLength: 60 }),
  fc.base64String({ maxLength: 60 }),
  fc.lorem({ maxCount: 12 }),
  fc.json({ maxDepth: 2 }),
)

describe('the contract of a counter', () => {
  test('has its name', () => {
    expect(estimate.name).toBe('estimate')
  })

  test('counts nothing in an empty text', () => {
    expect(estimate.count('')).toBe(0)
  })

  test('counts a whole number, at least one, in any other text', () => {
    fc.assert(
      fc.property(
        anyText.filter((text) => text !== ''),
        (text) => {
          const tokens = estimate.count(text)
          expect(Number.isSafeInteger(tokens)).toBe(true)
          expect(tokens).toBeGreaterThanOrEqual(1)
        },
      ),
      { numRuns: 1000 },
    )
  })

  test('counts the same text alike, whatever was counted in between', () => {
    fc.assert(
      fc.property(anyText, anyText, (text, other) => {
        const first = estimate.count(text)
        estimate.count(other)
        expect(estimate.count(text)).toBe(first)
      }),
    )
  })

  test('counts two texts joined hardly higher than apart', () => {
    fc.assert(
      fc.property(anyText, anyText, (first, second) => {
        const apart = estimate.count(first) + estimate.count(second)
        expect(estimate.count(first + second)).toBeLessThanOrEqual(apart + 12)
      }),
      { numRuns: 2000 },
    )
  })

  test.each([
    '\ud800',
    '\udc00\ud800',
    'a\ud83d',
    '\u0000\u0001',
    '\uffff\ufffe',
    "'",
    "a'",
    "a'l",
    '\\',
    'a\\',
    '../..',
    ' ',
    '\n ',
  ])('takes %j without complaint', (text) => {
    expect(estimate.count(text)).toBeGreaterThanOrEqual(1)
  })
})

describe('runs without end', () => {
  const million = 1_000_000

  test.each([
    // Runs of a letter cost from an eighth to half a token each, of which the estimate knows the middle.
    ['a', 0.3, 3],
    ['e', 0.3, 3],
    [' ', 0.5, 2],
    ['\n', 0.5, 2],
    ['=', 0.5, 2],
    ['(', 0.5, 2],
    ['0', 0.9, 1.1],
    ['中', 0.85, 1.2],
    ['あ', 0.85, 1.2],
    ['한', 0.85, 1.2],
  ])('a million of %j keeps its measure', (character, low, high) => {
    const perThousand = exact(character.repeat(1000)) / 1000
    const perCharacter = estimate.count(character.repeat(million)) / million
    expect(perCharacter).toBeGreaterThan(perThousand * low)
    expect(perCharacter).toBeLessThan(perThousand * high)
  })
})

describe('the tables taken from the vocabulary', () => {
  const ranks = createRequire(import.meta.url)('gpt-tokenizer/bpeRanks/o200k_base')
    .default as readonly unknown[]
  const words = ranks.filter((token) => typeof token === 'string')

  test('a pair of letters is common when 5 of the first 10,000 tokens have it', () => {
    const followers = new Map<number, number>()
    for (const token of ranks.slice(0, 10_000)) {
      const word = typeof token === 'string' ? token.trim().toLowerCase() : ''
      if (!/^[a-z]{3,}$/.test(word)) continue
      for (let index = 1; index < word.length; index++) {
        const pair = (word.charCodeAt(index - 1) % 32) * 32 + (word.charCodeAt(index) % 32)
        followers.set(pair, (followers.get(pair) ?? 0) + 1)
      }
    }
    const isRare = Array.from({ length: 26 * 26 }, (_, index) => {
      const [first, second] = [1 + Math.floor(index / 26), 1 + (index % 26)]
      const pair = first * 32 + second
      return [pair, first !== second && (followers.get(pair) ?? 0) < 5]
    })
    expect(isRare.map(([pair]) => [pair, rarePairs[Number(pair)] === 1])).toEqual(isRare)
  })

  /** In how many of the words each character stands. */
  function occurrences(pattern: RegExp): Map<string, number> {
    const counts = new Map<string, number>()
    for (const word of words.filter((word) => pattern.test(word))) {
      for (const character of new Set(word.trim())) {
        counts.set(character, (counts.get(character) ?? 0) + 1)
      }
    }
    return counts
  }

  test('a plain word has the price of any other word', () => {
    const around = { uppers: 0, accents: 0, isAfterSpace: true }
    for (let length = 1; length < 40; length++) {
      for (let rare = 0; rare < length; rare++) {
        const word = { length, rarePairs: rare, ...around }
        expect(plainWordTokens(length, rare)).toBe(wordTokens(word))
      }
    }
  })

  test('a syllable merges when it stands in five longer tokens', () => {
    const merging = [...occurrences(/^ ?[가-힣]{2,}$/)].filter(([, count]) => count >= 5)
    expect([...mergingSyllables].sort()).toEqual(merging.map(([syllable]) => syllable).sort())
  })

  test('an ideograph merges when it is a token and stands in three longer ones', () => {
    const longer = occurrences(/^[\u4e00-\u9fff]{2,}$/)
    const alone = words.filter((word) => /^[\u4e00-\u9fff]$/.test(word))
    const merging = alone.filter((word) => (longer.get(word) ?? 0) >= 3)
    expect([...mergingIdeographs].sort()).toEqual(merging.sort())
  })
})

const samples: Readonly<Record<string, string>> = {
  English: `The conductor looked at our tickets twice before he nodded. Outside, the fields went by in long
green strips, and every few minutes a village with a church and a pond appeared and was gone. "You'll want
to change at the next station," he said, "unless you're going all the way to the coast." We weren't.`,
  TypeScript: `export class RateLimiter {
  readonly #hits = new Map<string, number[]>()

  constructor(private readonly limit: number, private readonly windowMs = 60_000) {}

  allow(key: string, now = Date.now()): boolean {
    const recent = (this.#hits.get(key) ?? []).filter((time) => time > now - this.windowMs)
    if (recent.length >= this.limit) return false
    this.#hits.set(key, [...recent, now])
    return true
  }
}
`,
  'pretty JSON': JSON.stringify(
    { reservations: [{ id: 'K1NW8N', cabin: 'basic_economy', passengers: 2, insured: false }] },
    null,
    2,
  ).repeat(3),
  'compact JSON': JSON.stringify([
    { order_id: '#W2378156', status: 'delivered', items: [{ name: 'Keyboard', price: 130.15 }] },
    { order_id: '#W6247578', status: 'pending', items: [{ name: 'Thermostat', price: 98.2 }] },
  ]),
  'JSON in JSON': JSON.stringify({
    command:
      'python - <<EOF\nimport json\nfor row in json.load(open("rows.json")):\n    print(row["name"])\nEOF\n',
    input: JSON.stringify({ path: '/srv/app/rows.json', limit: 20, names: ['first', 'second'] }),
  }),
  'a stack trace': `Traceback (most recent call last):
  File "/srv/app/manage.py", line 22, in <module>
    main()
  File "/srv/app/orders/views.py", line 118, in get_queryset
    return super().get_queryset().filter(owner=self.request.user, state__in=("open", "paid"))
ValueError: Cannot query "AnonymousUser": Must be "User" instance.
`,
  'a list of identifiers': `9b2f6c1e-8d3a-4f57-b0c2-5e7a1d94c8f3
0d4e7a92-13bc-4c68-9f0a-b7d25e61c384
c7f81a5b-6e20-4d9b-8a34-2f9c0b7de615
5a3c9d7e-f412-4b86-a1e0-8d6b3f29c740`,
  'simplified Chinese': `昨天晚上下了一场大雨，院子里的花被打落了不少。爷爷一早就起来扫地，我帮他把花瓣装进篮子里。他说，
等天气好了，我们可以一起去河边钓鱼。下午邻居送来一篮新鲜的苹果，妈妈做了苹果派，整个屋子都是香味。`,
  'traditional Chinese': `昨天晚上下了一場大雨，院子裡的花被打落了不少。爺爺一早就起來掃地，我幫他把花瓣裝進籃子裡。他說，
等天氣好了，我們可以一起去河邊釣魚。下午鄰居送來一籃新鮮的蘋果，媽媽做了蘋果派，整個屋子都是香味。`,
  Japanese: `昨日の夜はひどい雨が降って、庭の花がたくさん落ちてしまいました。祖父は朝早く起きて掃除を始め、
私は花びらをかごに集めました。天気が良くなったら、一緒に川へ釣りに行こうと約束しました。`,
  Korean: `어젯밤에 비가 많이 와서 마당의 꽃이 많이 떨어졌다. 할아버지는 아침 일찍 일어나 마당을 쓸었고 나는 꽃잎을
바구니에 담았다. 날씨가 좋아지면 함께 강가로 낚시하러 가기로 했다.`,
  Russian: `Вчера вечером прошёл сильный дождь, и во дворе опало много цветов. Дедушка встал рано и начал
подметать, а я собирал лепестки в корзину. Он сказал, что в хорошую погоду мы вместе пойдём на реку.`,
  Arabic: `هطل مطر غزير مساء أمس وسقطت أزهار كثيرة في الحديقة. استيقظ جدي مبكرا وبدأ ينظف الساحة، وجمعت أنا
الأوراق في سلة. قال إننا سنذهب معا إلى النهر للصيد عندما يتحسن الجو.`,
}

describe('accuracy against exact o200k', () => {
  test.each(Object.entries(samples))('%s is within 15 of 100', (_, text) => {
    expect(ratio(text)).toBeGreaterThan(0.85)
    expect(ratio(text)).toBeLessThan(1.15)
  })

  test('random base64 and hex are never far too low, nor too high', () => {
    const bytes = fc.uint8Array({ minLength: 150, maxLength: 600 })
    fc.assert(
      fc.property(bytes, fc.constantFrom('base64', 'base64url', 'hex'), (content, encoding) => {
        const text = Buffer.from(content.map(scramble)).toString(encoding)
        expect(ratio(text)).toBeGreaterThan(0.85)
        expect(ratio(text)).toBeLessThan(1.2)
      }),
      { numRuns: 200 },
    )
  })

  test('long numbers are counted exactly', () => {
    fc.assert(
      fc.property(
        fc.array(fc.bigInt({ min: 0n, max: 10n ** 40n }), { minLength: 1 }),
        (numbers) => {
          const text = numbers.join(',')
          expect(estimate.count(text)).toBe(exact(text))
        },
      ),
    )
  })

  test.each([
    ['\n\n\n', 1],
    ['        ', 1],
    ['hello', 1],
    [' hello', 1],
    ['hello world', 2],
    ['camelCaseName', 3],
    ['12345678', 3],
    ['a = 1', 4],
    ['====================================', 1],
    ["don't", 1],
    ['../../', 1],
  ])('%j is %d tokens', (text, tokens) => {
    expect(estimate.count(text)).toBe(tokens)
  })
})

/** fast-check likes small and repeated bytes; random text has neither. */
function scramble(byte: number, index: number): number {
  let state = (byte + 1) * 2_654_435_761 + index * 40_503
  state ^= state >>> 15
  state = Math.imul(state, 2_246_822_519)
  return (state ^ (state >>> 13)) & 255
}

describeRecorded('recorded conversations', ({ files }) => {
  test.each(files)('$name: 3 of 100 in total, 12 of 100 for most single texts', (file) => {
    const texts = file
      .conversations()
      .filter((_, index, all) => index % 8 === 1 || all.length < 8)
      .flatMap(textsOf)
    const counted = texts.map((text) => [exact(text), estimate.count(text), text.length] as const)
    const total = counted.reduce((sum, [tokens]) => sum + tokens, 0)
    const estimated = counted.reduce((sum, [, tokens]) => sum + tokens, 0)
    expect(Math.abs(estimated / total - 1)).toBeLessThan(0.03)
    const errors = counted
      .filter(([, , length]) => length > 200)
      .map(([tokens, guess]) => Math.abs(guess / tokens - 1))
      .sort((first, second) => first - second)
    expect(errors[Math.floor(errors.length * 0.95)]).toBeLessThan(0.12)
  })
})

function textsOf(conversation: RecordedConversation): string[] {
  return conversation.messages.flatMap(({ content, tool_calls: calls = [] }) => [
    ...(typeof content === 'string' && content !== '' ? [content] : []),
    ...calls.map((call) => call.function.arguments),
  ])
}
