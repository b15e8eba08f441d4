// What fills the window, as text: a bar for each category. The command and the plugins of agents print it.

import { type Composition, contextCategories } from './composition.ts'

/** Characters of the longest bar. */
const barWidth = 40

/** How parts of the report are coloured. */
export interface ReportColors {
  /** The first line. @default as it is */
  readonly head?: (text: string) => string
  /** The bars. @default as they are */
  readonly bar?: (text: string) => string
}

/** The composition of a request by category, with shares of the window, or of the request where the window is unknown. */
export function contextReport(
  name: string,
  { tokens, used, window, free, model }: Composition,
  { head = (text) => text, bar = (text) => text }: ReportColors = {},
): string {
  const whole = window ?? used
  const rows = [
    ...contextCategories.map((category) => [category, tokens[category]] as const),
    ...(free === undefined ? [] : [['free', free] as const]),
  ]
  const width = Math.max(...rows.map(([category]) => category.length))
  const lines = rows.map(([category, count]) => {
    const share = whole === 0 ? 0 : count / whole
    const drawn = bar('#'.repeat(Math.round(share * barWidth)))
    const number = count.toLocaleString('en').padStart(11)
    const percent = `${(100 * share).toFixed(1)} %`.padStart(7)
    return `  ${category.padEnd(width)}  ${number}  ${percent}  ${drawn}`.trimEnd()
  })
  const of = window === undefined ? '' : ` of ${window.toLocaleString('en')}`
  const about = model === undefined ? '' : `, ${model}`
  return [head(`${name}: ${used.toLocaleString('en')}${of} tokens${about}`), ...lines].join('\n')
}
