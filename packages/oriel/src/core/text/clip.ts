// Text truncation that keeps grapheme clusters whole and marks the gap.

/** The first `length` UTF-16 units at most, without splitting a character as people see it. */
export function head(text: string, length: number): string {
  if (text.length <= length) return text
  if (length <= 0) return ''
  const { before } = boundaryAt(text, length)
  return text.slice(0, isHighSurrogate(text.charCodeAt(before - 1)) ? before - 1 : before)
}

/** The last `length` UTF-16 units at most, without splitting a character as people see it. */
export function tail(text: string, length: number): string {
  if (text.length <= length) return text
  if (length <= 0) return ''
  return text.slice(boundaryAt(text, text.length - length).after)
}

/** Units around a cut that are looked at: longer than any cluster that is written on purpose. */
const clusterLength = 64

/** Nothing below combines with what stands before it. */
const firstCombining = 0x300

/** Made when first needed: it loads tables of ICU. */
let graphemes: Intl.Segmenter | undefined

/** The ends of the cluster around a position; both are the position where it is between two clusters. */
function boundaryAt(text: string, at: number): { readonly before: number; readonly after: number } {
  if (text.charCodeAt(at) < firstCombining) return { before: at, after: at }
  const from = Math.max(0, at - clusterLength)
  graphemes ??= new Intl.Segmenter('en', { granularity: 'grapheme' })
  const around = graphemes.segment(text.slice(from, at + clusterLength))
  const cluster = around.containing(at - from)
  const before = from + (cluster?.index ?? at - from)
  if (cluster === undefined || before === at) return { before: at, after: at }
  // An endless cluster is cut between two code points.
  if (before === from && from > 0) return pairAt(text, at)
  const after = before + cluster.segment.length
  return after >= at + clusterLength ? pairAt(text, at) : { before, after }
}

/** The ends of the surrogate pair around a position. */
function pairAt(text: string, at: number): { readonly before: number; readonly after: number } {
  const isSplit = isHighSurrogate(text.charCodeAt(at - 1)) && isLowSurrogate(text.charCodeAt(at))
  return isSplit ? { before: at - 1, after: at + 1 } : { before: at, after: at }
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

/** The end of the marker of `clip`. */
export const markerEnd = ' ...]\n'

/**
 * Head and tail with a marker between, at most `length` units in all. Short texts are returned
 * unchanged.
 */
export function clip(text: string, length: number, id: string): string {
  if (text.length <= length) return text
  const marker = `\n[... ${text.length - length} of ${text.length} characters left out; expand ${id}${markerEnd}`
  const room = length - marker.length
  if (room <= 0) return head(text, Math.max(0, length))
  const headLength = Math.ceil((room * 2) / 3)
  return head(text, headLength) + marker + tail(text, room - headLength)
}

/** A text on one line, well-formed. */
export function oneLine(text: string): string {
  return text.toWellFormed().replaceAll(/\s+/g, ' ').trim()
}

/** Both ends of a text, at most `length` units in all: of a path or a command the end says as much as the start. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text
  const first = Math.ceil((length - 1) / 2)
  return `${head(text, first)}…${tail(text, length - 1 - first)}`
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
