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
  if (size < 1000) return String(Math.round(value))
  if (size < 1_000_000) return `${trim(value / 1000)}k`
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

export function formatPercent(share: number): string {
  return `${Math.round(share * 100)}%`
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
