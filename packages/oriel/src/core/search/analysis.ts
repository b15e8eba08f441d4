// The one analysis of text for search. Databases only index the tokens that it gives, so that all stores find and rank the same.

/**
 * Grows with every change to the tokens of a text or to where its passages are cut. What was indexed by another analysis is indexed again
 * when it is next searched.
 */
export const analysisVersion = 3

/** Longer words are not indexed whole: they are encoded data, not names. */
const maxToken = 64

/** Text behind this many characters of one passage is not analysed. */
const maxAnalysed = 20_000

/** Scripts that write words without spaces between them, and Hangul, whose words carry particles: they are cut into pairs of characters. */
const inPairs =
  '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Hangul}'
/** What joins the parts of identifiers, paths, addresses, versions and numbers: a comma only before three digits. */
const joiner = "(?:['’.\\-/:@#+\\\\]+|(?<=\\p{N}),(?=\\p{N}{3}(?!\\p{N})))"
const words = new RegExp(
  `[${inPairs}]+|[\\p{L}\\p{N}\\p{M}_]+(?:${joiner}[\\p{L}\\p{N}\\p{M}_]+)*`,
  'gu',
)
const unspaced = new RegExp(`^[${inPairs}]`, 'u')
const inner = new RegExp(`[${inPairs}]+`, 'gu')
const isPlainWord = /^[a-z]+$/
const separators = /[^\p{L}\p{N}]+/u
/** Between a small letter and a capital, between letters and digits, and before the last capital of several. */
const boundaries =
  /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u

/** Of numbers with digits in groups. */
const groupCommas = /(?<=\p{N}),(?=\p{N}{3})/gu
/** Hashes: commits, digests, addresses. People name them by their first characters. */
const isHash = /^(?=.*[0-9])(?=.*[a-f])[0-9a-f]{16,64}$/
const hashPrefixes = [7, 8, 9, 10, 11, 12] as const

/**
 * The tokens of a text, in its order: words in lower case without accents and in their stem, identifiers and paths in parts and whole, scripts
 * without spaces as pairs of characters. A token begins with a letter or digit, and has only those, `_` and `.-/:@#+` inside.
 */
export function analyse(text: string): readonly string[] {
  const tokens: string[] = []
  // In the compatible form: full-width letters are letters, and "⅐" is 1 and 7.
  for (const { word } of wordsIn(text.slice(0, maxAnalysed).normalize('NFKC'))) {
    const lower = fold(word)
    if (isPlainWord.test(lower) && !hasBoundary(word)) push(tokens, stem(lower))
    else if (unspaced.test(word)) pushPairs(tokens, lower)
    else if (isHash.test(lower)) tokens.push(...hashTokens(lower))
    else if (word.includes(',')) pushCompound(tokens, ungrouped(word), ungrouped(lower))
    else pushCompound(tokens, word, lower)
  }
  return tokens
}

/** The words of a text as they are written, each with where it stands. */
export function* wordsIn(
  text: string,
): Generator<{ readonly word: string; readonly index: number }> {
  for (const { 0: word, index } of text.matchAll(words)) yield { word, index }
}

function hasBoundary(word: string): boolean {
  return /[a-z][A-Z]|[A-Z][A-Z][a-z]/.test(word)
}

/** Lower case without accents. */
function fold(word: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a quick test for ASCII.
  if (/^[\x00-\x7f]*$/.test(word)) return word.toLowerCase()
  return word
    .normalize('NFD')
    .replaceAll(/\p{M}+/gu, '')
    .toLowerCase()
    .normalize('NFC')
}

function push(tokens: string[], token: string): void {
  if (token !== '' && token.length <= maxToken) tokens.push(token)
}

function pushPairs(tokens: string[], run: string): void {
  const characters = [...run]
  if (characters.length === 1) push(tokens, run)
  for (let index = 1; index < characters.length; index++)
    push(tokens, `${characters[index - 1]}${characters[index]}`)
}

function hashTokens(hash: string): readonly string[] {
  return [...hashPrefixes.map((length) => hash.slice(0, length)), hash]
}

function ungrouped(number: string): string {
  return number.replaceAll(groupCommas, '')
}

function pushCompound(tokens: string[], word: string, lower: string): void {
  // "Anna's" is Anna, "I've" is I, "doesn't" is does: what follows is no word of its own.
  const own = word.replace(/(?:n['’]t|['’](?:s|m|d|re|ve|ll))$/iu, '')
  const parts: string[] = []
  for (const piece of own.split(separators)) {
    const hash = piece.toLowerCase()
    if (isHash.test(hash)) {
      parts.push(...hashTokens(hash))
      continue
    }
    for (const part of piece.split(boundaries)) {
      for (const [run] of part.matchAll(inner)) pushPairs(tokens, fold(run))
      const rest = fold(part.replaceAll(inner, ''))
      if (rest !== '') parts.push(rest)
    }
  }
  for (const part of parts) push(tokens, isPlainWord.test(part) ? stem(part) : part)
  if (parts.length < 2) return
  const whole = own === word ? lower : fold(own)
  // "iPhone" and "YouTube" are also written in small letters, and then have a stem.
  const isName = isPlainWord.test(whole)
  push(tokens, isName ? stem(whole) : whole.replaceAll(/['’\\]+/g, '/').replace(/^_+/, ''))
  // A long path is also found by its name.
  const name = /[^/\\]+$/.exec(whole)?.[0] ?? ''
  if (name !== whole && /[._-]/.test(name)) push(tokens, name.replace(/^[^\p{L}\p{N}]+/u, ''))
}

/** Removes the endings of plurals, and of forms in -ed and -ing: the first step of Porter's, made weaker. */
function stem(word: string): string {
  if (word.length < 4) return word
  let base = word
  if (base.endsWith('ies') && base.length > 4) base = `${base.slice(0, -3)}y`
  else if (base.endsWith('sses') || base.endsWith('shes') || base.endsWith('ches'))
    base = base.slice(0, -2)
  else if (base.endsWith('s') && !/(?:ss|us|is)$/.test(base)) base = base.slice(0, -1)
  if (base.length > 5 && base.endsWith('ing')) base = ended(base.slice(0, -3))
  else if (base.length > 4 && base.endsWith('ed') && !base.endsWith('eed'))
    base = ended(base.slice(0, -2))
  // With and without the silent e: "cache", "caching".
  return base.length > 4 && base.endsWith('e') ? base.slice(0, -1) : base
}

/** "planned" is "plan", but "called" is "call". */
function ended(base: string): string {
  if (!/[aeiouy]/.test(base)) return base
  const isDoubled = base.length > 3 && base.at(-1) === base.at(-2)
  return isDoubled && !/[lsz]$/.test(base) ? base.slice(0, -1) : base
}

/** Finds where the words of texts stand that have one of these tokens, in order. Remembers the words that it has seen. */
export function wordMarker(
  tokens: ReadonlySet<string>,
): (text: string) => readonly (readonly [from: number, to: number])[] {
  const seen = new Map<string, boolean>()
  const isMarked = (word: string): boolean => {
    const known = seen.get(word)
    if (known !== undefined) return known
    // Most words need no more than their stem.
    const found = isPlainWord.test(word)
      ? tokens.has(stem(word))
      : analyse(word).some((token) => tokens.has(token))
    seen.set(word, found)
    return found
  }
  return (text) => {
    const marks: [number, number][] = []
    for (const { word, index } of wordsIn(text.slice(0, maxAnalysed))) {
      if (marks.length >= maxMarks) break
      if (isMarked(word)) marks.push([index, index + word.length])
    }
    return marks
  }
}

const maxMarks = 200
