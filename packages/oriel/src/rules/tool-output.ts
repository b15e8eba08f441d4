// Every tool result, error or not, is bounded from the moment it comes in (document 003). The log keeps the whole.

import { textOf } from '../core/log/block.ts'
import type { Edit } from '../core/log/entry.ts'
import { choice, count, object, optional, text } from '../core/schema/schema.ts'
import { isLookupTool } from '../core/state/expansion.ts'
import { noFile } from '../core/state/file-request.ts'
import { type Result, resultsOf } from '../core/state/results.ts'
import { settledBy } from '../core/state/settled.ts'
import type { State } from '../core/state/state.ts'
import { withoutBinary } from '../core/text/binary.ts'
import { head, tail } from '../core/text/clip.ts'
import { reduceResult } from '../core/view/reduction.ts'
import type { Defaults, Rule, RuleContext } from './rule.ts'

export interface ToolOutputSettings {
  /** Most lines; 0 = no limit. @default 2000 */
  readonly maxLines?: number | undefined
  /** Most bytes in UTF-8, marker and notice included; 0 = no limit. @default 51200 */
  readonly maxBytes?: number | undefined
  /** Most characters, marker and notice included; 0 = no limit. @default 204800 */
  readonly maxChars?: number | undefined
  /** Above this many characters only a notice is shown, with size, hash and handle; 0 = never. @default 204800 */
  readonly largeOutputThreshold?: number | undefined
  /** Whether the end of an output survives the cut. @default 'head_tail' */
  readonly truncateMode?: 'head' | 'head_tail' | undefined
  /** Base64, hexadecimal and control bytes: `notice` shows their kind and size only, `keep` shows them within the limits. @default 'notice' */
  readonly binary?: 'notice' | 'keep' | undefined
  /** Where outputs above the threshold are also kept as files, for tools that read files. @default nowhere */
  readonly directory?: string | undefined
}

interface Limits {
  readonly maxLines: number
  readonly maxBytes: number
  readonly maxChars: number
  readonly truncateMode: 'head' | 'head_tail'
}

/** Room kept for the handle, whatever its length, so that one output is cut alike in every log. */
const idLength = 12
/** Fewer lines than this cannot be split into a head and a tail. */
const minSplitLines = 4

const defaults = {
  maxLines: 2000,
  maxBytes: 51_200,
  maxChars: 204_800,
  largeOutputThreshold: 204_800,
  truncateMode: 'head_tail',
  binary: 'notice',
  directory: { words: 'nowhere' },
} as const satisfies Defaults

export const toolOutput = {
  name: 'toolOutput',
  schema: object({
    maxLines: optional(count),
    maxBytes: optional(count),
    maxChars: optional(count),
    largeOutputThreshold: optional(count),
    truncateMode: optional(choice('head', 'head_tail')),
    binary: optional(choice('notice', 'keep')),
    directory: optional(text),
  }),
  defaults,
  propose(state, settings, context) {
    const { largeOutputThreshold: threshold = defaults.largeOutputThreshold } = settings
    const settled = settledBy(state, 'toolOutput', settings)
    const results = resultsOf(state, [], settled.upTo(state))
    const said = new Map<Result, readonly Edit[]>()
    const answer = (result: Result): readonly Edit[] => {
      const { seq } = result.item.entry
      // Whether the model has seen it does not matter: it never sees more than this.
      if (state.isPinned(seq)) return []
      // What a model asked to see is not cut again to what it already saw; an expansion has its own bound.
      if (isLookupTool(result.tool)) return []
      // What was shown once never changes, and of what was not kept there is nothing else to cut.
      if (state.blockEdit(seq, result.block)?.form === 'omitted') return []
      if (state.isFinal(seq, result.block)) return []
      const text = textOf(result.content.content)
      const isLarge = threshold > 0 && text.length > threshold
      const notice = isLarge
        ? tooLarge(state, result, text, { ...context, directory: settings.directory })
        : []
      // A notice that is not shorter than the output is not used; the limits hold in any case.
      if (notice.length > 0) return notice
      const limits = limitsOf(settings)
      const isKept = settings.binary === 'keep'
      const readable = isKept ? [] : withoutBytes(state, result, text, limits)
      return readable.length > 0 ? readable : bounded(state, result, text, limits)
    }
    for (const result of results) said.set(result, answer(result))
    settled.pass(
      results,
      (result) => said.get(result)?.every((edit) => isInForce(state, edit)) === true,
    )
    return [...said.values()].flat()
  },
} satisfies Rule<ToolOutputSettings>

/** Whether the very edit is in force: a file that is not written yet gives another text later. */
function isInForce(state: State, { target, form, text }: Edit): boolean {
  if (!('seq' in target)) return false
  const live = state.blockEdit(target.seq, target.block)
  return live?.form === form && live.text === text
}

function limitsOf(settings: ToolOutputSettings): Limits {
  const { maxLines = defaults.maxLines, maxBytes = defaults.maxBytes } = settings
  const { maxChars = defaults.maxChars, truncateMode = defaults.truncateMode } = settings
  return { maxLines, maxBytes, maxChars, truncateMode }
}

function tooLarge(
  state: State,
  result: Result,
  text: string,
  { sha256, fileOf, directory }: RuleContext & Pick<ToolOutputSettings, 'directory'>,
): readonly Edit[] {
  const { entry } = result.item
  const id = state.blockIdAt({ seq: entry.seq, block: result.block })
  const { hash } = state.derive(`sha256:${id}:${text.length}`, () => ({
    hash: sha256(text.toWellFormed()),
  }))
  const saved =
    directory === undefined || state.isVetoed(entry.seq, result.block, 'omitted')
      ? noFile({ directory: '', sha256: hash, text })
      : fileOf({ directory, sha256: hash, text })
  const notice = [
    `[tool output too large: ${text.length} chars]`,
    ...(saved.state === 'saved' ? [`Saved to: ${saved.path}`] : []),
    ...(saved.state === 'failed' ? [`Not saved as a file (${saved.reason}); the log has it.`] : []),
    `SHA256: ${hash}`,
    `expand ${id}, by lines or by query`,
  ].join('\n')
  const change = { rule: 'toolOutput', form: 'omitted', text: notice, since: entry.seq } as const
  const reason = 'larger than what is shown at all'
  return reduceResult(state, result, { ...change, reason, keepsMedia: true })
}

/** The readable part of an output with bytes in it, within the limits. */
function withoutBytes(state: State, result: Result, text: string, limits: Limits): readonly Edit[] {
  const { entry } = result.item
  const id = state.blockIdAt({ seq: entry.seq, block: result.block })
  const key = `binary:${id}:${text.length}:${Object.values(limits).join(':')}`
  const { shown } = state.derive(key, () => {
    const readable = withoutBinary(text)
    const notice = `\n[bytes left out of ${text.length} characters; expand ${id}]`
    // A limit of 0 is none: without room beside the notice there is no form with it.
    const { maxBytes, maxChars } = limits
    const isTight = [maxBytes, maxChars].some((limit) => limit > 0 && limit <= notice.length)
    if (readable === undefined || isTight) return { shown: undefined }
    const room = (limit: number): number => (limit === 0 ? 0 : limit - notice.length)
    const within = { ...limits, maxBytes: room(maxBytes), maxChars: room(maxChars) }
    const part = isWithin(readable, within) ? readable : boundText(readable, within, id)
    return { shown: part + notice }
  })
  if (shown === undefined) return []
  const change = { rule: 'toolOutput', form: 'clipped', text: shown, since: entry.seq } as const
  const reason = 'bytes that say nothing to a model'
  return reduceResult(state, result, { ...change, reason, keepsMedia: true })
}

function bounded(state: State, result: Result, text: string, limits: Limits): readonly Edit[] {
  const { entry } = result.item
  if (isWithin(text, limits)) return []
  const id = state.blockIdAt({ seq: entry.seq, block: result.block })
  const key = `bounded:${id}:${text.length}:${Object.values(limits).join(':')}`
  const change = {
    rule: 'toolOutput',
    form: 'clipped',
    since: entry.seq,
    keepsMedia: true,
  } as const
  const reason = 'longer than the limits of tool output'
  for (const [index, form] of formsOf(text, limits, id).entries()) {
    const { shown } = state.derive(`${key}:${index}`, () => ({ shown: form() }))
    if (shown === undefined) continue
    const edits = reduceResult(state, result, { ...change, reason, text: shown }, { isLimit: true })
    if (edits.length > 0) return edits
  }
  return []
}

/** An output within its limits, in the best form. */
export function boundText(text: string, limits: Limits, id: string): string {
  for (const form of formsOf(text, limits, id)) {
    const shown = form()
    if (shown !== undefined) return shown
  }
  return text
}

/**
 * The forms of an output that is too long, best first: with the notice of what is shown, with a short one, with an ellipsis. All are within
 * the limits on characters and bytes, notice included, and shorter than the output; a form without room is undefined. Later ones of a kind
 * leave more out, where the notice has more tokens than what it stands for.
 */
function formsOf(text: string, limits: Limits, id: string): readonly (() => string | undefined)[] {
  const room: Room = {
    chars: Math.min(limits.maxChars || Infinity, text.length - 1),
    bytes: limits.maxBytes || Infinity,
  }
  const lines = countLines(text)
  // A marker inside a line makes three of it.
  const stats = (shown: string): string =>
    `\n\n[tool output truncated: showing ${Math.min(countLines(shown), lines)}/${lines} lines, ${byteLength(shown)}/${byteLength(text)} bytes, ${shown.length}/${text.length} chars; expand ${id}]`
  const short = (): string => `\n[truncated; expand ${id}]`
  const noticed = (notice: (shown: string) => string, extra: number) => (): string | undefined => {
    const byLines = cutLines(text, limits)
    // The room for the handle is fixed, and numbers in the notice may grow by a digit or two once the cut is made.
    const length = notice(byLines).length - id.length + idLength
    const slack = notice === stats ? 8 : 0
    if (Math.min(room.chars, room.bytes) < length * 2) return undefined
    const left = length + slack + extra * length
    const within = { chars: room.chars - left, bytes: room.bytes - left }
    if (Math.min(within.chars, within.bytes) <= 0) return undefined
    const shown = cutLength(byLines, within, limits.truncateMode)
    return shown + notice(shown)
  }
  return [
    ...[0, 1, 3].map((extra) => noticed(stats, extra)),
    ...[0, 1].map((extra) => noticed(short, extra)),
    () => linesWithEllipsis(text, limits, room),
    ...[1, 0.75, 0.5, 0.25, 0].map((share) => () => withEllipsis(text, limits, { room, share })),
  ]
}

interface Room {
  readonly chars: number
  readonly bytes: number
}

const ellipsis = '…'

/** Whole lines from both ends with an ellipsis between them, where that is all that has to be cut. */
function linesWithEllipsis(text: string, limits: Limits, room: Room): string | undefined {
  const shown = cutLines(text, limits, ellipsis)
  return shown !== text && shown.includes(ellipsis) && fits(shown, room) ? shown : undefined
}

/** The beginning with an ellipsis; below the size of one, a plain sign. */
function withEllipsis(
  text: string,
  limits: Limits,
  { room, share }: { readonly room: Room; readonly share: number },
): string {
  const sign = room.bytes < byteLength(ellipsis) ? '~' : ellipsis
  const byLines = cutLines(text, { ...limits, truncateMode: 'head' })
  const chars = Math.floor(Math.min(room.chars - 1, byLines.length) * share)
  const bytes = room.bytes - byteLength(sign)
  return cutLength(byLines, { chars: Math.max(0, chars), bytes }, 'head') + sign
}

function fits(text: string, { chars, bytes }: Room): boolean {
  return text.length <= chars && (text.length * 3 <= bytes || byteLength(text) <= bytes)
}

function isWithin(text: string, { maxLines, maxBytes, maxChars }: Limits): boolean {
  if (maxChars > 0 && text.length > maxChars) return false
  if (maxLines > 0 && countLines(text) > maxLines) return false
  return maxBytes <= 0 || text.length * 3 <= maxBytes || byteLength(text) <= maxBytes
}

function cutLines(text: string, { maxLines, truncateMode }: Limits, mark?: string): string {
  const lines = text.split('\n')
  if (maxLines <= 0 || lines.length <= maxLines) return text
  if (truncateMode === 'head' || maxLines < minSplitLines)
    return lines.slice(0, maxLines).join('\n')
  const headCount = Math.floor(maxLines / 2)
  const marker = mark ?? `... [truncated ${lines.length - maxLines} lines] ...`
  return [...lines.slice(0, headCount), marker, ...lines.slice(-(maxLines - headCount))].join('\n')
}

/** Cuts to characters and bytes at once; head and tail both survive in `head_tail`. */
function cutLength(text: string, { chars, bytes }: Room, mode: 'head' | 'head_tail'): string {
  if (fits(text, { chars, bytes })) return text
  const marker = '\n... [truncated] ...\n'
  const canSplit = mode === 'head_tail' && Math.min(chars, bytes) > marker.length * 3
  // The longest cut that fits: bytes per character vary, so it is found by halving.
  const first = (length: number): string => {
    if (!canSplit) return head(text, length)
    const room = Math.max(0, length - marker.length)
    return head(text, Math.ceil(room / 2)) + marker + tail(text, Math.floor(room / 2))
  }
  let low = 0
  let high = Math.max(0, Math.floor(Math.min(chars, bytes, text.length)))
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if (byteLength(first(middle)) <= bytes) low = middle
    else high = middle - 1
  }
  return first(low)
}

/** Bytes in UTF-8; half a surrogate pair is written as the replacement character, which has three. */
function byteLength(text: string): number {
  let bytes = text.length
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x80) continue
    if (unit < 0x800) bytes += 1
    else if (unit >= 0xd800 && unit <= 0xdbff && isLow(text.charCodeAt(index + 1))) {
      bytes += 2
      index += 1
    } else bytes += 2
  }
  return bytes
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Lines as the source document counts them: a trailing newline begins another line. */
function countLines(text: string): number {
  if (text === '') return 0
  let lines = 1
  for (let index = text.indexOf('\n'); index !== -1; index = text.indexOf('\n', index + 1))
    lines += 1
  return lines
}
