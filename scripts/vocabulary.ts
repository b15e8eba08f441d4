// The words that this project does not use, each with the words to use: in documents, in comments, and in the texts of the programs.

import { parseSync } from 'oxc-parser'

export interface Finding {
  readonly line: number
  /** The words found. */
  readonly found: string
  /** The words to use. */
  readonly instead: string
}

interface Term {
  readonly banned: RegExp
  readonly instead: string
}

interface Span {
  readonly start: number
  readonly end: number
}

/** Words that a reader has to translate. */
const terms: readonly Term[] = [
  { banned: /\bdear(er|est)?\b/gi, instead: 'expensive' },
  { banned: /\b(is|are|was|were|be|still|go|goes|gone|went) away\b/gi, instead: 'unreachable' },
  { banned: /\bturn(s|ed|ing)? (\S+ ){0,4}away\b/gi, instead: 'reject' },
  { banned: /\b(take|takes|taken|taking|took) (\S+ ){0,3}away\b/gi, instead: 'remove' },
  { banned: /\b(find|finds|found) out\b/gi, instead: 'detect' },
  { banned: /\b(tell|tells|told) (\S+ ){0,3}apart\b/gi, instead: 'distinguish' },
  { banned: /\bserves(?=[.;:,)]| (where|instead|then)\b)/gi, instead: 'is used' },
  { banned: /\bleft alone\b/gi, instead: 'not changed' },
  { banned: /\b(with)?in reach of\b/gi, instead: 'can be fetched with' },
  { banned: /\bfixed ladder\b/gi, instead: 'the steps, by their names' },
  { banned: /\bbroken promise\b/gi, instead: 'internal error' },
  { banned: /\bon the processor\b/gi, instead: 'CPU time' },
  { banned: /\bquestion mark of\b/gi, instead: 'query string' },
  { banned: /\basked for and not there\b/gi, instead: 'unsupported' },
  { banned: /\bwith the future known\b/gi, instead: 'an oracle that knows the future' },
  { banned: /\b(TODO|FIXME)\b(?! #\d)/g, instead: 'TODO with the number of an issue' },
  { banned: /\p{Extended_Pictographic}(?=\uFE0F)|\p{Emoji_Presentation}/gu, instead: 'words' },
]

/** Not for the texts of programs: prompts tell models to go on. */
const goOn: Term = {
  banned: /\b(go|goes|going|gone|went) on\b(?! the wire\b)/gi,
  instead: 'continue',
}

/** Not for documents about the source documents themselves. */
const sourceDocument: Term = { banned: /\bdocument 00\d\b/gi, instead: 'what it does' }

/** Banned words in the prose of a document. Words in double quotes are somebody else's. */
export function findInDocument(
  text: string,
  { isForUsers }: { readonly isForUsers: boolean },
): readonly Finding[] {
  const prose = text
    .replace(/^```[\s\S]*?^```/gm, blank)
    .replace(/^ {4,}\S.*$/gm, blank)
    .replace(/`[^`\n]*`|"[^"\n]*"/g, blank)
  return find(prose, isForUsers ? [...terms, goOn, sourceDocument] : [...terms, goOn])
}

/** Banned words in the comments of a source file. */
export function findInComments(path: string, source: string): readonly Finding[] {
  const words = only(source, parseSync(path, source).comments)
  return find(words.replace(/`[^`\n]*`|"[^"\n]*"/g, blank), [...terms, goOn])
}

/** Banned words in the strings, templates and page texts of a source file. */
export function findInTexts(path: string, source: string): readonly Finding[] {
  return find(only(source, textsOf(parseSync(path, source).program)), terms)
}

/** Whether a path has a name that says nothing about what is in it. */
export function hasEmptyName(path: string): boolean {
  return /(^|\/)(utils?|helpers?|common|shared|lib|types|misc)(\.[^/]*)?(\/|$)/.test(path)
}

function find(text: string, banned: readonly Term[]): readonly Finding[] {
  return banned.flatMap(({ banned: { source, flags }, instead }) =>
    // Words may stand on two lines of a text or a comment.
    [...text.matchAll(new RegExp(source.replaceAll(' ', '[\\s*/]+'), flags))].map(
      ({ 0: found, index }) => ({
        line: text.slice(0, index).split('\n').length,
        found: found.replace(/[\s*/]+/g, ' '),
        instead,
      }),
    ),
  )
}

/** Blanks everything outside of the spans, so that lines and columns stay. */
function only(text: string, spans: readonly Span[]): string {
  let words = ''
  let end = 0
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    words += blank(text.slice(end, span.start)) + text.slice(span.start, span.end)
    end = span.end
  }
  return words
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, ' ')
}

/** Where a syntax tree has strings, pieces of templates, and texts of a page. */
function textsOf(node: unknown): readonly Span[] {
  if (Array.isArray(node)) return node.flatMap(textsOf)
  if (typeof node !== 'object' || node === null) return []
  const { type, value, start, end } = node as Record<string, unknown>
  const isText =
    type === 'TemplateElement' ||
    type === 'JSXText' ||
    (type === 'Literal' && typeof value === 'string')
  return isText ? [{ start, end } as Span] : Object.values(node).flatMap(textsOf)
}
