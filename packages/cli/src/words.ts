// The words of a command line, before and after the parser reads them.

import type { cac } from 'cac'

type Cli = ReturnType<typeof cac>

/**
 * Prefix that protects words from the parser, which drops `-` and converts ids that look like
 * numbers. No command line argument can contain a NUL.
 */
const mark = '\0'

/** Options whose values stay text. */
const textOptions: readonly string[] = [
  ...['--conversation', '--policy', '--prices', '--html', '--fail-if'],
  ...['--data', '--store', '--tenant', '--thread', '--out', '--url', '--key'],
  ...['--host', '--upstream', '--config', '--how'],
]

/** The words as the parser reads them rightly. */
export function prepareWords(words: readonly string[], { commands }: Cli): string[] {
  const flags = new Set(commands.flatMap(({ options }) => flagsAmong(options)))
  const end = words.indexOf('--')
  return words.map((word, index) => {
    const isOption = end === -1 || index < end
    // The parser takes the word behind a flag with a dash for its value, so that --dry-run codex was no dry run.
    const isFlag = isOption && flags.has(word) && !word.startsWith('--no-')
    if (isFlag) return `--${camelCase(word.slice(2))}`
    return markWord(word, index, words)
  })
}

function camelCase(name: string): string {
  return name.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

function markWord(word: string, index: number, words: readonly string[]): string {
  if (word === '-') return mark + word
  if (textOptions.includes(words[index - 1] ?? '') && !word.startsWith('-')) return mark + word
  const name = textOptions.find((option) => word.startsWith(`${option}=`))
  return name === undefined ? word : `${name}=${mark}${word.slice(name.length + 1)}`
}

export function unmark(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmark)
  return typeof value === 'string' && value.startsWith(mark) ? value.slice(mark.length) : value
}

/** A word that the parser would read as something else. */
export interface Misread {
  readonly word: string
  /** `--json=x`, which the parser takes for a file; else `-json`, four options to it, or `--no-json`. */
  readonly hasValue: boolean
}

export function misread(words: readonly string[], cli: Cli): Misread | undefined {
  const end = words.indexOf('--')
  const flags = flagsOf(cli)
  for (const word of end === -1 ? words : words.slice(0, end)) {
    if (/^-[a-z]{2}/i.test(word)) return { word, hasValue: false }
    const [name = '', value] = word.split('=', 2)
    if (value !== undefined && flags.has(name)) return { word: name, hasValue: true }
    const isNegated = name.startsWith('--no-') && flags.has(name.replace('--no-', '--'))
    if (isNegated) return { word: name, hasValue: false }
  }
  return undefined
}

/** Options without a value, as they are written. */
function flagsOf({ matchedCommand, globalCommand }: Cli): ReadonlySet<string> {
  return new Set(flagsAmong([...(matchedCommand?.options ?? []), ...globalCommand.options]))
}

function flagsAmong(options: readonly { readonly rawName: string }[]): readonly string[] {
  const flags = options.filter(({ rawName }) => !/[<[]/.test(rawName))
  return flags.flatMap(({ rawName }) => rawName.split(/, */))
}
