// Text truncation that keeps surrogate pairs whole and marks the gap.

/** The first `length` UTF-16 units at most, without splitting a surrogate pair. */
export function head(text: string, length: number): string {
  if (text.length <= length) return text
  const end = isHighSurrogate(text.charCodeAt(length - 1)) ? length - 1 : length
  return text.slice(0, Math.max(0, end))
}

/** The last `length` UTF-16 units at most, without splitting a surrogate pair. */
export function tail(text: string, length: number): string {
  if (text.length <= length) return text
  if (length <= 0) return ''
  const start = text.length - length
  return text.slice(isLowSurrogate(text.charCodeAt(start)) ? start + 1 : start)
}

/**
 * Two thirds from the start and one third from the end, `length` units in all without the marker
 * (document 003).
 */
export function headAndTail(text: string, length: number): string {
  const most = Math.floor(length)
  if (text.length <= most) return text
  const first = Math.floor((most * 2) / 3)
  return `${head(text, first)}\n... (truncated) ...\n${tail(text, most - first)}`
}

/**
 * Head and tail with a marker between, at most `length` units in all. Short texts are returned
 * unchanged.
 */
export function clip(text: string, length: number, id: string): string {
  if (text.length <= length) return text
  const marker = `\n[... ${text.length - length} of ${text.length} characters left out; expand ${id} ...]\n`
  const room = length - marker.length
  if (room <= 0) return head(text, Math.max(0, length))
  const headLength = Math.ceil((room * 2) / 3)
  return head(text, headLength) + marker + tail(text, room - headLength)
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
