// Generated conversations in which a user states rules at every position and in several languages: are they still in the last view?

/** A neutral message, as `thread.append` takes it. */
export interface GeneratedMessage {
  readonly role: 'user' | 'assistant' | 'tool'
  readonly content: string | readonly object[]
}

/** Where a rule stands. */
export const placements = ['alone', 'in a message', 'between code and logs', 'restated'] as const
export type Placement = (typeof placements)[number]

export interface StatedRule {
  /** The exact words. */
  readonly text: string
  readonly language: string
  readonly placement: Placement
  /** The share of the conversation that comes before it. */
  readonly position: number
  /** The rule that replaces it later, if one does. */
  readonly replacedBy?: string
}

export interface GeneratedChat {
  /** The messages, turn by turn. */
  readonly turns: readonly (readonly GeneratedMessage[])[]
  readonly rules: readonly StatedRule[]
  /** Sentences of the same shape that the user only quotes, or that a tool printed. */
  readonly decoys: readonly string[]
}

export interface ChatOptions {
  readonly seed: number
  /** Tokens of the conversation, approximately. */
  readonly tokens: number
  /** An agent's tools say most of it, or the user's own long messages do. */
  readonly style: 'agent' | 'chat'
  /** How many rules are stated. @default 10 */
  readonly rules?: number
}

/** Rules as people write them; `#` is a word that makes each its own. */
const sayings: Readonly<Record<string, readonly string[]>> = {
  English: [
    'For the rest of this session never touch the folder #.',
    'From now on, please prefix every branch name with #-.',
    'I prefer short answers, and no tables about #.',
    "Don't mention # in commit messages.",
    'All amounts for # must be in euros, rounded to two digits.',
    'Whenever you change #, run the linter first.',
    'Going forward, ask me before you delete anything in #.',
    'Please always answer me in plain text when it is about #.',
  ],
  German: [
    'Ab sofort bitte keine Änderungen mehr an # ohne Rückfrage.',
    'Schreibe Kommentare in # immer auf Englisch.',
    'Ich möchte, dass du # niemals neu startest.',
    'In dieser Sitzung darfst du # nur lesen.',
  ],
  French: [
    'À partir de maintenant, ne modifie plus jamais le dossier #.',
    'Je préfère que les dates de # soient au format ISO.',
    'Réponds toujours en deux phrases au plus quand je parle de #.',
  ],
  Spanish: [
    'A partir de ahora, nunca borres nada de #.',
    'Prefiero que los informes de # tengan una sola página.',
    'No uses abreviaturas cuando hables de #.',
  ],
  Italian: [
    'D’ora in poi scrivi sempre i nomi di # in minuscolo.',
    'Non cancellare mai i file di #.',
    'Preferisco che le tabelle di # siano ordinate per data.',
  ],
  Portuguese: [
    'De agora em diante, nunca envie e-mails sobre #.',
    'Prefiro que os valores de # fiquem em reais.',
    'Não altere os testes de # sem me perguntar.',
  ],
  Dutch: [
    'Vanaf nu wil ik dat je # nooit meer aanpast.',
    'Gebruik voor # altijd de 24-uursnotatie.',
    'Ik heb liever geen afkortingen in #.',
  ],
  Russian: [
    'С этого момента никогда не меняй папку #.',
    'Пожалуйста, всегда указывай источник, когда пишешь о #.',
    'Не используй сокращения в отчётах о #.',
  ],
  Polish: [
    'Od teraz zawsze pytaj mnie przed zmianą #.',
    'Nie usuwaj niczego z katalogu #.',
    'Wolę, żeby raporty o # były krótkie.',
  ],
  Turkish: [
    'Bundan sonra # klasörünü asla değiştirme.',
    '# hakkında her zaman kısa cevap ver.',
    'Raporlarda # için kısaltma kullanma.',
  ],
  Chinese: [
    '从现在开始，绝不要修改 # 目录。',
    '以后关于 # 的回答请始终控制在三句话以内。',
    '请不要在 # 里使用缩写。',
  ],
  Japanese: [
    '今後、# フォルダーは絶対に変更しないでください。',
    '# について書くときは必ず出典を示してください。',
    '# の表は日付順に並べる方がいいです。',
  ],
  Korean: [
    '앞으로 # 폴더는 절대 수정하지 마세요.',
    '# 에 대해서는 항상 짧게 답변해 주세요.',
    '# 보고서에는 약어를 쓰지 마세요.',
  ],
}

const pairs: readonly (readonly [older: string, newer: string])[] = [
  ['Please always use spaces for indentation.', 'From now on use tabs instead.'],
  ['Always answer in French.', 'I changed my mind: from now on answer in German.'],
  ['Use metric units everywhere.', 'From now on use imperial units instead of metric ones.'],
]

const words =
  'the result of this part was checked with another file before a change came in and somebody looked at what it shows while tests ran over night on the second machine with more data than we had last week so there may be a reason for that number in the table below'.split(
    ' ',
  )

const languages = Object.keys(sayings)
/** Tokens of a turn, low and high. */
const turnTokens = [350, 2600] as const
const tokensPerWord = 1.15

/** A conversation with stated rules. The same options give the same conversation. */
export function generateChat({
  seed,
  tokens,
  style,
  rules: count = 10,
}: ChatOptions): GeneratedChat {
  const random = createRandom(seed)
  const sizes: number[] = []
  for (let sum = 0; sum < tokens; ) {
    const [low, high] = turnTokens
    const size = Math.round(low + random() ** 2 * (high - low))
    sizes.push(size)
    sum += size
  }
  const stated = stateRules(random, seed, count)
  const decoys = Array.from(
    { length: 6 },
    (_, n) => `From now on always open ${nameOf(seed, 900 + n)}.`,
  )
  const turns = sizes.map((size, turn) => {
    const position = turn / sizes.length
    const own = stated.filter((rule) => Math.floor(rule.position * sizes.length) === turn)
    const decoy =
      turn % Math.ceil(sizes.length / 6) === 1 ? decoys[Math.floor(position * 6)] : undefined
    return turnOf({ random, turn, size, style, rules: own, decoy })
  })
  return { turns, rules: stated, decoys }
}

type Random = () => number

function stateRules(random: Random, seed: number, count: number): readonly StatedRule[] {
  const rules: StatedRule[] = Array.from({ length: count }, (_, n) => {
    const language = languages[(seed + n) % languages.length] as string
    const own = sayings[language] as readonly string[]
    const saying = own[Math.floor(random() * own.length)] as string
    const placement = placements[Math.floor(random() * 3)] as Placement
    return {
      text: saying.replaceAll('#', nameOf(seed, n)),
      language,
      placement,
      position: n / count,
    }
  })
  const [older, newer] = pairs[seed % pairs.length] as (typeof pairs)[number]
  const own = { language: 'English', placement: 'in a message' } as const
  const restated = `Understood, from now on I will keep ${nameOf(seed, 99)} closed.`
  return [
    ...rules,
    { ...own, text: older, position: 0.12, replacedBy: newer },
    { ...own, text: newer, position: 0.55 },
    { language: 'English', text: restated, placement: 'restated', position: 0.33 },
  ]
}

function nameOf(seed: number, n: number): string {
  return `unit-${((seed * 7919 + n * 104_729) % 90_000) + 10_000}`
}

function turnOf({
  random,
  turn,
  size,
  style,
  rules,
  decoy,
}: {
  readonly random: Random
  readonly turn: number
  readonly size: number
  readonly style: ChatOptions['style']
  readonly rules: readonly StatedRule[]
  readonly decoy: string | undefined
}): readonly GeneratedMessage[] {
  const prose = (share: number): string => proseOf(random, size * share)
  const ownShare = style === 'chat' ? 0.7 : 0.1
  const restated = rules.filter(({ placement }) => placement === 'restated')
  const said = rules.filter(({ placement }) => placement !== 'restated')
  const messages: GeneratedMessage[] = []
  for (const { text } of restated) {
    messages.push({ role: 'user', content: prose(0.05) })
    messages.push({ role: 'assistant', content: `${prose(0.1)} ${text} Is that right?` })
    messages.push({ role: 'user', content: `Yes, exactly. ${prose(0.05)}` })
    messages.push({ role: 'assistant', content: prose(0.1) })
  }
  const quoted = decoy === undefined ? '' : `\nThe manual says:\n> ${decoy}\n`
  const asked = said.map((rule) => placed(rule, prose))
  const question = [...asked, `Turn ${turn}: ${prose(ownShare)}${quoted}`].join('\n')
  // A rule that stands alone is a message of its own.
  if (said[0]?.placement === 'alone' && said.length === 1) {
    messages.push({ role: 'user', content: said[0].text })
    messages.push({ role: 'assistant', content: `Noted. ${prose(0.05)}` })
    messages.push({ role: 'user', content: `Turn ${turn}: ${prose(ownShare)}${quoted}` })
  } else messages.push({ role: 'user', content: question })
  if (style === 'agent' && random() < 0.6) messages.push(...exchange(turn, prose(0.6), decoy))
  messages.push({ role: 'assistant', content: `Answer ${turn}: ${prose(0.3)}` })
  return messages
}

function placed({ text, placement }: StatedRule, prose: (share: number) => string): string {
  if (placement !== 'between code and logs') return `${prose(0.1)}\n${text} ${prose(0.1)}`
  return [
    'This is what I see:',
    '```ts',
    `const always = never(${text.length});`,
    '// never change this line',
    '```',
    '2026-03-04 10:11:12 ERROR always retry, never stop',
    prose(0.2),
    text,
    '    at run (src/never.ts:12:3)',
    '[WARN] you must always set a limit',
  ].join('\n')
}

function exchange(
  turn: number,
  text: string,
  decoy: string | undefined,
): readonly GeneratedMessage[] {
  const callId = `call_${turn}`
  const path = `src/part-${turn}/file-${turn * 7}.ts`
  const call = { type: 'tool-call', callId, name: 'read_file', arguments: JSON.stringify({ path }) }
  const content = `${path}\n${text}${decoy === undefined ? '' : `\n${decoy}`}`
  return [
    { role: 'assistant', content: [call] },
    { role: 'tool', content: [{ type: 'tool-result', callId, content }] },
  ]
}

function proseOf(random: Random, tokens: number): string {
  const count = Math.max(3, Math.round(tokens / tokensPerWord))
  const sentence: string[] = []
  for (let n = 0; n < count; n++) {
    const word = words[Math.floor(random() * words.length)] as string
    sentence.push(
      n % 11 === 10 ? `${word}.` : n % 29 === 28 ? `item_${Math.floor(random() * 1e5)}` : word,
    )
  }
  return `${sentence.join(' ')}.`
}

/** Mulberry32: small, and the same everywhere. */
function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
