// Bytes in a text: base64, hexadecimal and control characters cost a token or two for each few of them, and say nothing to a model.

/** Shorter stretches may be keys, tokens or hashes that somebody needs word for word. */
const minStretch = 4096
/** A line of wrapped base64 or hexadecimal has at least this many characters. */
const minLine = 60
/** Texts below this length are shown, whatever they hold. */
const minBytes = 1024
/** From this share of control characters on, a text is bytes. Text with colors or progress bars has far fewer. */
const controlShare = 0.1

const longRun = new RegExp(`[A-Za-z0-9+/_-]{${minStretch},}={0,2}`, 'g')
const wrappedLine = new RegExp(`^(?:[A-Za-z0-9+/_-]{${minLine},}={0,2})\\r?$`)
const lastLine = /^[A-Za-z0-9+/_-]*={0,2}\r?$/

/** The text with a short note in place of each stretch of bytes; undefined where there is none. */
export function withoutBinary(text: string): string | undefined {
  if (text.length < minBytes) return undefined
  if (isControl(text)) return `[binary data: ${text.length} characters]`
  if (text.length < minStretch) return undefined
  const shown = withoutWrapped(text).replace(longRun, (run) => noteOn(run) ?? run)
  return shown === text ? undefined : shown
}

function isControl(text: string): boolean {
  let count = 0
  for (let index = 0; index < text.length; index++) {
    if (isControlUnit(text.charCodeAt(index))) count += 1
  }
  return count >= text.length * controlShare
}

/** No tab, line break, backspace or escape; but what a decoder leaves of bytes that are no text. */
function isControlUnit(unit: number): boolean {
  if (unit >= 0x20) return (unit >= 0x7f && unit < 0xa0) || unit === 0xfffd
  return !(unit >= 0x08 && unit <= 0x0d) && unit !== 0x1b
}

/** Consecutive lines of nothing but base64 or hexadecimal are one stretch; its last line may be short. */
function withoutWrapped(text: string): string {
  const lines = text.split('\n')
  const shown: string[] = []
  for (let index = 0; index < lines.length; index++) {
    let end = index
    while (wrappedLine.test(lines[end] ?? '')) end += 1
    if (end - index > 1 && end < lines.length && lastLine.test(lines[end] as string)) end += 1
    const stretch = lines.slice(index, end).join('\n')
    const note = end - index > 1 && stretch.length >= minStretch ? noteOn(stretch) : undefined
    if (note === undefined) shown.push(lines[index] as string)
    else {
      shown.push(note)
      index = end - 1
    }
  }
  return shown.join('\n')
}

/** Undefined for a stretch that is no encoding of bytes: those use all of their alphabet. */
function noteOn(stretch: string): string | undefined {
  const share = (pattern: RegExp): number => (stretch.match(pattern)?.length ?? 0) / stretch.length
  const digits = share(/\d/g)
  const lower = share(/[a-z]/g)
  const upper = share(/[A-Z]/g)
  if (digits > 0.05 && lower > 0.15 && upper > 0.15) return `[base64: ${stretch.length} characters]`
  const isHex = digits > 0.3 && share(/[a-fA-F]/g) > 0.1 && share(/[g-zG-Z+/_-]/g) === 0
  return isHex ? `[hexadecimal: ${stretch.length} characters]` : undefined
}
