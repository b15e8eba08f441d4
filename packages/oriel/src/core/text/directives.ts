// Finds standing instructions and preferences in what a user wrote, word for word and without a model. Pasted code, logs and quotations
// are not what the user asks for.

import { clip, markerEnd } from './clip.ts'
import {
  absolute,
  continuation,
  imperative,
  manner,
  permission,
  pin,
  request,
  restatement,
  retraction,
  standing,
  story,
  title,
  topics,
  wish,
  yes,
} from './directive-cues.ts'
import { isAskedFor, isBuiltAsInstruction, isRestatedRule } from './directive-forms.ts'

/** How firmly something was said; where there is no room for all, the weaker ones give way first. */
export const firmnesses = ['pin', 'rule', 'wish', 'ask'] as const
export type Firmness = (typeof firmnesses)[number]

export interface FoundDirective {
  /** The exact words. */
  readonly text: string
  readonly firmness: Firmness
  /** Only blanks separate it from the directive before it. */
  readonly isAdjacent: boolean
  /** Takes something back and says nothing else: it counts only where there is something to take back. @default false */
  readonly isRetraction?: boolean
}

/** Characters that are read of one text; the middle of a longer one is left out. */
const readLength = 400_000
/** A longer sentence is a paste, or it is cut to the part with the cue. */
const longestSentence = 600
/** A text that is to be remembered as a whole. */
const longestPin = 1000

/** The directives in a text that a user wrote, in order. */
export function directivesIn(text: string): readonly FoundDirective[] {
  const read = text.length > readLength ? ends(text) : text
  const pinned = pinnedIn(read)
  if (pinned?.length === read.trim().length) return [foundPin(pinned)]
  const found: FoundDirective[] = pinned === undefined ? [] : [foundPin(pinned)]
  let end = -1
  let isListed = false
  for (const line of proseLines(read)) {
    const { isItem } = line
    if (line.isTitle) isListed = true
    else if (!isItem) isListed = false
    for (const { text: sentence, start } of sentencesIn(line)) {
      const isNear = end >= 0 && read.slice(end, start).trim() === ''
      const firmness =
        firmnessOf(sentence) ??
        (isListed && isItem ? 'wish' : undefined) ??
        (isNear && continuation.test(sentence) ? 'wish' : undefined)
      const isRetraction = [retraction, permission].some((cue) => cue.test(masked(sentence)))
      const kind = isRetraction ? (firmness ?? 'ask') : firmness
      if (kind === undefined || line.isTitle || pinned?.includes(sentence) === true) continue
      const exact = exactly(sentence)
      const isAdjacent = isNear && !read.slice(end, start).includes('\n')
      found.push({
        text: exact,
        firmness: kind,
        isAdjacent,
        ...(isRetraction ? { isRetraction } : {}),
      })
      end = start + sentence.length
    }
  }
  return found
}

/** Of a clipped text, directives take at most this share. */
const keptShare = 0.5

/** Clips a text that a user wrote as `clip` does; directives in what is left out stay word for word, the firmest first, as far as they have room. */
export function clipUserText(text: string, length: number, id: string): string {
  const plain = clip(text, length, id)
  if (plain === text) return text
  const lost = directivesIn(text).filter((one) => !plain.includes(one.text))
  let left = Math.floor(length * keptShare)
  const kept = new Set<FoundDirective>()
  for (const firmness of firmnesses) {
    for (const one of lost.filter((other) => other.firmness === firmness)) {
      if (one.text.length + 1 > left) continue
      left -= one.text.length + 1
      kept.add(one)
    }
  }
  if (kept.size === 0) return plain
  const said = lost.filter((one) => kept.has(one)).map((one) => one.text)
  const note = ['Of this, word for word:', ...said, '[...]', ''].join('\n')
  const clipped = clip(text, length - note.length, id)
  const end = clipped.indexOf(markerEnd, clipped.indexOf(`expand ${id}`)) + markerEnd.length
  return clipped.slice(0, end) + note + clipped.slice(end)
}

/** What an assistant said that it will do from now on: a directive once the user says yes to it. */
export function restatedIn(text: string): readonly FoundDirective[] {
  const found: FoundDirective[] = []
  for (const line of proseLines(text.length > readLength ? ends(text) : text)) {
    for (const { text: sentence } of sentencesIn(line)) {
      const said = masked(sentence)
      const isFirm = (standing.test(said) || absolute.test(said)) && restatement.test(said)
      if (!(isFirm || isRestatedRule(said)) || sentence.length > longestSentence) continue
      found.push({ text: sentence, firmness: 'rule', isAdjacent: false })
    }
  }
  return found
}

/** Whether a user's message says yes to what was said before it. */
export function isConfirmation(text: string): boolean {
  return yes.test(text.slice(0, 80).replace(/^[\s"'*_(]+/, ''))
}

/** Whether a message says nothing but that something is to be remembered: then it means the one before it. */
export function isPinOfOther(text: string): boolean {
  const bare = text.trim()
  if (bare.length > 100 || /[\n:：]/.test(bare) || !pin.test(bare)) return false
  return [...sentencesIn({ text: bare, start: 0 })].length === 1
}

function foundPin(text: string): FoundDirective {
  return { text, firmness: 'pin', isAdjacent: false }
}

/** The part of a message that it asks to remember: all of it, or the paragraph that says so and what it announces. */
function pinnedIn(text: string): string | undefined {
  const bare = text.trim()
  if (!pin.test(bare.length <= longestPin ? masked(bare) : bare) || isPinOfOther(bare)) {
    return undefined
  }
  if (bare.length <= longestPin && !bare.includes('```')) return bare
  const paragraphs = bare.split(/\n\s*\n/)
  const at = paragraphs.findIndex((one) => one.length <= longestPin && pin.test(masked(one)))
  const own = paragraphs[at]
  if (own === undefined) return undefined
  const next = paragraphs[at + 1]
  const isAnnounced = /[:：]\s*$/.test(own) && next !== undefined && next.length <= longestPin
  if (!isAnnounced) return own
  const start = bare.indexOf(own)
  return bare.slice(start, bare.indexOf(next, start + own.length) + next.length)
}

/** Whether a user's text states a rule, or asks to remember something. Cheaper than finding all that it asks for. */
export function statesRule(text: string): boolean {
  const read = text.length > readLength ? ends(text) : text
  if (pinnedIn(read) !== undefined) return true
  for (const line of proseLines(read)) {
    if (line.isTitle) continue
    for (const { text: sentence } of sentencesIn(line)) {
      if (ruleIn(sentence, masked(sentence)) === true) return true
    }
  }
  return false
}

/** Whether a sentence states a rule; undefined where it may still be something weaker. */
function ruleIn(sentence: string, said: string): boolean | undefined {
  if (standing.test(said)) return isQuestion(sentence, said) || !isOnlyStory(said)
  if (isQuestion(sentence, said)) return undefined
  return absolute.test(said) && !story.test(said) ? true : undefined
}

/** Whether a sentence only asks for an answer. */
function isQuestion(sentence: string, said: string): boolean {
  return /[?？]["'”»)]*\s*$/.test(sentence) && !request.test(said)
}

function firmnessOf(sentence: string): Firmness | undefined {
  const said = masked(sentence)
  const isRule = ruleIn(sentence, said)
  if (isRule !== undefined) return isRule ? 'rule' : undefined
  if (isQuestion(sentence, said)) return isAskedFor(said) ? 'ask' : undefined
  const isWish = imperative.test(said) || wish.test(said) || request.test(said)
  const isManner = !isWish && manner.test(said) && subjects.some((topic) => topic.test(said))
  if (isWish || isManner) return 'wish'
  return isBuiltAsInstruction(said) && !story.test(said) && !told.test(said) ? 'ask' : undefined
}

const subjects = Object.values(topics)

/** "In this session I have already tried ..." tells what happened. */
function isOnlyStory(said: string): boolean {
  return told.test(said) && !absolute.test(said) && !wish.test(said)
}

const told =
  /^(?:i|we|it|he|she|they)(?:['’](?:ve|d|m|s))? (?:have|had|has|was|were|am|tried|got|saw|did|already)\b(?! (?:allergic|vegan|a |not a ))/i

/** The sentence without what it quotes: code, and words in quotation marks. */
function masked(sentence: string): string {
  return sentence
    .replaceAll(/`[^`]{0,200}`/g, '`_`')
    .replaceAll(
      /(?<![\p{L}\p{N}])(?:"[^"]{2,300}"|“[^”]{2,300}”|„[^“”]{2,300}[“”]|«[^»]{2,300}»|「[^」]{2,300}」|'[^']{2,300}'(?![\p{L}]))/gu,
      '"_"',
    )
}

/** A long sentence from the clause with its cue on, as far as it may go. */
function exactly(sentence: string): string {
  if (sentence.length <= longestSentence) return sentence
  const cue = standing.exec(sentence) ?? absolute.exec(sentence) ?? wish.exec(sentence)
  const at = cue?.index ?? 0
  const clause = Math.max(0, sentence.slice(0, at).search(/[,;:][^,;:]*$/) + 1)
  const rest = sentence.slice(at - clause > 200 ? at : clause).trim()
  if (rest.length <= longestSentence) return rest
  const end = rest.slice(0, longestSentence).search(/[,;\s][^,;\s]*$/)
  return rest.slice(0, end > 0 ? end : longestSentence).toWellFormed()
}

interface ProseLine {
  readonly text: string
  readonly start: number
  /** An item of a list; `text` begins behind its mark. */
  readonly isItem: boolean
  /** Announces a list of instructions. */
  readonly isTitle: boolean
}

/** The lines that the user wrote as prose: no fenced, indented, tagged or quoted text, no code, no logs. */
function* proseLines(text: string): Generator<ProseLine> {
  const lines = text.split('\n')
  let start = 0
  let until: RegExp | undefined
  let isPatch = false
  const unclosed = new Set<string>()
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] as string
    const own = start
    start += line.length + 1
    if (until !== undefined) {
      if (until.test(line)) until = undefined
      continue
    }
    until = closingOf({ lines, index, unclosed })
    if (until !== undefined) continue
    if (/^(?:diff --git |@@ |--- a\/|\+\+\+ )/.test(line)) isPatch = true
    else if (line.trim() === '') isPatch = false
    if (isPatch || isPasted(line)) continue
    const mark = /^\s*(?:[-*•‣]|\d{1,2}[.)]|[a-z]\))\s+/.exec(line)?.[0] ?? ''
    const heading = /^#{1,6}\s+|^\*\*(?=[^*]+\*\*:?\s*$)/.exec(line)?.[0]
    const body = line.slice(mark.length)
    const isTitle =
      (heading !== undefined || /[:：]\**\s*$/.test(line)) &&
      line.length < 160 &&
      (title.test(body) || standing.test(body))
    if (heading !== undefined && !isTitle) continue
    yield { text: body, start: own + mark.length, isItem: mark !== '', isTitle }
  }
}

/** What ends the block that a line opens: a fence, or a tag on a line of its own; undefined where none is opened or it never ends. */
function closingOf({
  lines,
  index,
  unclosed,
}: {
  readonly lines: readonly string[]
  readonly index: number
  /** Ends that do not come any more: each is looked for once. */
  readonly unclosed: Set<string>
}): RegExp | undefined {
  const line = lines[index] as string
  const fence = /^\s*(`{3,10}|~{3,10})/.exec(line)?.[1]
  const tag = /^\s*<([A-Za-z][\w-]{0,40})(?:\s[^>]{0,200})?>\s*$/.exec(line)?.[1]
  if (fence === undefined && tag === undefined) return undefined
  const end = fence === undefined ? `^\\s*</${tag}>` : `^\\s*${fence}\\s*$`
  if (unclosed.has(end)) return undefined
  const closing = new RegExp(end)
  for (let next = index + 1; next < lines.length; next++) {
    if (closing.test(lines[next] as string)) return closing
  }
  unclosed.add(end)
  return undefined
}

const logLine =
  /^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d|\[?\d{1,2}:\d\d:\d\d|\d{1,3}(?:\.\d{1,3}){3}\s|\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|TRACE|FATAL|NOTICE)\b|[A-Z][a-z]{2} +\d{1,2} \d\d:\d\d|at \S+ ?\(|File "|Traceback |npm (?:ERR|WARN|error|warn)|\$ |>>> |\/\/|\/\*|\*\/|\* @|#!|--\s|[\w.]+(?:Error|Exception): )/
const codeStart =
  /^\s*(?:import|export|const|let|var|function|async|def|class|return|if|for|while|elif|else|try|except|catch|public|private|protected|static|package|from|use|fn|func|type|interface|struct|enum|SELECT|INSERT|UPDATE|DELETE|CREATE)\b.*[;{}()=]/

/** Whether a line is a quotation, code, or output of a program. */
function isPasted(line: string): boolean {
  if (/^\s*>/.test(line) || /^(?: {4,}|\t)\s*[^\s\-*•\d]/.test(line)) return true
  if (logLine.test(line)) return true
  if (/^\s*(?:"[^"]+"|“[^”]+”|„[^“”]+[“”]|«[^»]+»)[.,]?\s*$/.test(line)) return true
  const bare = line.replaceAll(/`[^`]{0,200}`/g, '')
  if (/^\s*#(?!#|\s*\p{Lu})/u.test(line)) return true
  const isEnded = /(?:[;{}\\]|=>|\):)\s*$/.test(bare) && /[=(){}<>]/.test(bare)
  if (isEnded || (codeStart.test(bare) && /[;{}=]|\)\s*[:{;]?\s*$/.test(bare))) return true
  const signs = bare.match(/[{}()[\];=<>|\\$&*+_/]/g)?.length ?? 0
  return signs > 4 && signs > bare.length * 0.12
}

/** Words that end with a full stop inside a sentence. */
const abbreviation =
  /(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|dr|mr|mrs|ms|st|no|nr|z\.\s?b|d\.\s?h|bzw|ca|usw|p\.\s?ej|p\.\s?ex|ex|т\.\s?е|т\.\s?д|np|tj|bijv|örn|v)\.$/i

/** The sentences of a line, each with its place in the text. */
function* sentencesIn({ text, start }: Pick<ProseLine, 'text' | 'start'>): Generator<{
  readonly text: string
  readonly start: number
}> {
  let from = 0
  const ends = /[.!?…؟]+["'”»)\]]*(?=\s|$)|[。！？।]+[」』”）]*|$/gu
  for (const match of text.matchAll(ends)) {
    const to = match.index + match[0].length
    if (to < text.length && abbreviation.test(text.slice(from, to))) continue
    const sentence = text.slice(from, to)
    const bare = sentence.trim()
    if (/\p{L}/u.test(bare)) yield { text: bare, start: start + from + sentence.indexOf(bare) }
    from = to
  }
}

/** The beginning and the end of a text that is too long to be read. */
function ends(text: string): string {
  const half = readLength / 2
  return `${text.slice(0, half)}\n\n${text.slice(-half)}`.toWellFormed()
}
