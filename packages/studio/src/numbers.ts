// Number formatting.

const whole = new Intl.NumberFormat('en-US')

export function formatCount(value: number): string {
  return whole.format(Math.round(value))
}

/** 1 message, 2 messages. */
export function countOf(value: number, name: string): string {
  return `${formatCount(value)} ${name}${value === 1 ? '' : 's'}`
}

/** 934, 1.2k, 35k, 1.4M. */
export function formatTokens(value: number): string {
  const size = Math.abs(value)
  if (size < 999.5) return String(Math.round(value))
  if (size < 999_500) return `${trim(value / 1000)}k`
  return `${trim(value / 1_000_000)}M`
}

export function formatDollars(value: number): string {
  if (value === 0) return '$0'
  return value < 0.01 ? `$${value.toPrecision(2)}` : `$${value.toFixed(2)}`
}

export function formatAgo(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000))
  if (seconds < 5) return 'just now'
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`
  return new Date(at).toLocaleDateString(undefined, { dateStyle: 'medium' })
}

/** What is there is never 0%, and what is not all is never 100%. */
export function formatPercent(share: number): string {
  if (share > 0 && share < 0.005) return '<1%'
  if (share < 1 && share >= 0.995) return '>99%'
  return `${Math.round(share * 100)}%`
}

/** Notes with commas between them; empty ones are left out. */
export function listed(notes: readonly string[]): string {
  return notes.filter((note) => note !== '').join(', ')
}

/** Calls that are in no sum of dollars, in words; empty where all have a price. */
export function unpriced(calls: number): string {
  return calls === 0 ? '' : `${countOf(calls, 'call')} without a known price`
}

/** A text of the library with its large numbers grouped, as the page writes them: 12742 tokens are 12,742. */
export function grouped(text: string): string {
  return text.replace(/(?<![\w.#/-])\d{4,9}(?![\w.-]|\/)/g, (digits) =>
    digits.startsWith('0') ? digits : formatCount(Number(digits)),
  )
}

function trim(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toFixed(1).replace(/\.0$/, '')
}
