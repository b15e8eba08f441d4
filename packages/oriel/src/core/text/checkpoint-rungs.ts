// Shorter forms of a checkpoint's text, for requests with less room than the checkpoint was made for. Works on the text alone.

import { noteTitles } from './checkpoint.ts'
import { head } from './clip.ts'
import { directivesHeading } from './directive-list.ts'

/** The share of its notes that each rung keeps; the last one keeps the opening and the closing line. */
export const checkpointRungs = [0.75, 0.5, 0.35, 0.25, 0.15, 0.1, 0.05, 0] as const

/** How the section with the user's standing instructions begins. */
const standing = `## ${noteTitles.constraints}\n${directivesHeading}`

/** Shorter pieces of a line say nothing. */
const leastPiece = 40

/**
 * A checkpoint with about `share` of its notes. Every section keeps its heading and its newest lines. The opening, the user's standing
 * instructions, up to the last rung, and the last section, which says what the checkpoint covers, stay. A notice says how many lines were left out. Never longer than `text`.
 */
export function shortenCheckpoint(text: string, share: number): string {
  const sections = text.split('\n\n')
  const [opening = '', ...rest] = sections
  const closing = rest.pop()
  if (closing === undefined) return text
  const isWhole = (section: string): boolean => share > 0 && section.startsWith(standing)
  const notes = rest.map((section) =>
    isWhole(section) ? { text: section, left: 0 } : shortenSection(section, share),
  )
  const left = notes.reduce((sum, { left }) => sum + left, 0)
  if (left === 0) return text
  const notice = `[${left} line${left === 1 ? '' : 's'} of these notes left out]`
  const kept = notes.flatMap((note) => (note.text === '' ? [] : [note.text]))
  const shorter = [opening, ...kept, notice, closing].join('\n\n')
  return shorter.length < text.length ? shorter : text
}

function shortenSection(
  section: string,
  share: number,
): { readonly text: string; readonly left: number } {
  const [heading = '', ...lines] = section.split('\n')
  // A section of one line is all content.
  const body = lines.length === 0 ? [heading] : lines
  let room = Math.floor(body.reduce((sum, line) => sum + line.length + 1, 0) * share)
  const kept: string[] = []
  let left = 0
  let hasSource = true
  for (const line of body.toReversed()) {
    if (isSource(line)) {
      if (!hasSource) kept.push(line)
      hasSource = true
    } else if (line.length <= room) {
      kept.push(line)
      room -= line.length + 1
      hasSource = false
    } else {
      left += 1
      if (room >= leastPiece) {
        kept.push(`${head(line, room - 4)} ...`)
        hasSource = false
      }
      room = 0
    }
  }
  if (kept.length === 0) return { text: '', left }
  if (left === 0) return { text: section, left }
  const all = lines.length === 0 ? kept : [...kept, heading]
  return { text: all.reverse().join('\n'), left }
}

/** A line that names the source of the lines below it. */
function isSource(line: string): boolean {
  return line.endsWith(':') && line.length <= leastPiece
}
