// The log beside a view: every block in order, with the form that it has in the view.

import type { Block, FileBlock, ImageBlock, ToolResultBlock } from '../core/log/block.ts'
import type { EditEntry, Entry, Form } from '../core/log/entry.ts'
import type { Json } from '../core/log/json.ts'
import { assertOptions, type OptionNames } from '../core/log/options.ts'
import { isInRanges } from '../core/state/edits.ts'
import { State } from '../core/state/state.ts'
import type { Change } from '../core/view/view.ts'
import { resolveCounter } from '../counters.ts'
import type { FormatName } from '../providers/format.ts'
import { decode } from '../providers/registry.ts'

export interface ViewBlock {
  readonly id: string
  /** The message it is a part of. */
  readonly message: string
  readonly seq: number
  /** Position of the block in its message. */
  readonly index: number
  readonly turn: number
  readonly step: number
  readonly role: string
  readonly kind?: string
  readonly type: Block['type']
  readonly form: Form
  readonly rule?: string
  readonly reason?: string
  readonly tokensBefore?: number
  readonly tokensAfter?: number
  readonly canExpand: boolean
  readonly isPinned: boolean
  readonly isExcluded: boolean
  /** The edit that gave it this form, where it is in the log: pass it to `undo`. */
  readonly edit?: string
  /** As rendered, or the original where the block is full. Cut at 20,000 characters. */
  readonly text: string
}

const maxText = 20_000

export interface ViewBlocksOptions {
  readonly trace: readonly Change[]
  readonly format: FormatName
  /** The messages (or items) of the view, as they were sent. */
  readonly messages: readonly Json[]
}

const viewBlocksOptions: OptionNames<ViewBlocksOptions> = {
  trace: true,
  format: true,
  messages: true,
}

/** Every block of a log, with the form that a view gives it. */
export function viewBlocks(
  entries: readonly Entry[],
  options: ViewBlocksOptions,
): readonly ViewBlock[] {
  assertOptions<ViewBlocksOptions>(options, viewBlocksOptions, 'viewBlocks')
  const { trace, format, messages } = options
  const results = resultsIn(format, messages)
  const changes = new Map(trace.map((change) => [change.id, change]))
  const state = stateOf(entries)
  return entries.flatMap((entry) => {
    if (entry.type !== 'message') return []
    const { id, seq, turn, step, role, kind } = entry
    const isPinned = state.isPinned(seq)
    const isExcluded = state.excluded.has(seq)
    return entry.blocks.map((block, index): ViewBlock => {
      const own = String(block.id ?? id)
      const change = changes.get(own)
      const edit = change === undefined ? undefined : liveEdit(state, seq, index)
      const isHidden = isExcluded || (entry.audience !== undefined && !isShown(entry.audience))
      const form = change?.form ?? (isHidden ? 'dropped' : 'full')
      const isShort = form !== 'full' && form !== 'dropped'
      const sent = block.type === 'tool-result' ? results.get(block.callId) : undefined
      const text = isShort ? (sent ?? edit?.text ?? '') : form === 'full' ? plainText(block) : ''
      return {
        id: own,
        message: id,
        seq,
        index,
        turn,
        step,
        role,
        ...(kind === undefined ? {} : { kind }),
        type: block.type,
        form,
        ...(change === undefined
          ? {}
          : {
              rule: change.rule,
              reason: change.reason,
              tokensBefore: change.tokensBefore,
              tokensAfter: change.tokensAfter,
            }),
        canExpand: change?.canExpand ?? false,
        isPinned,
        isExcluded,
        ...(edit === undefined ? {} : { edit: edit.id }),
        text: text.slice(0, maxText),
      }
    })
  })
}

function isShown(audience: object): boolean {
  return !('now' in audience) || audience.now !== false
}

/** The text of each result in a request, by call id: a policy for one call leaves no edit in the log to read it from. */
function resultsIn(format: FormatName, messages: readonly Json[]): ReadonlyMap<string, string> {
  const blocks = decode(format, messages).flatMap(({ draft: { content } }) =>
    typeof content === 'string' ? [] : content,
  )
  return new Map(
    blocks.flatMap((block) =>
      block.type === 'tool-result' ? [[block.callId, resultText(block)] as const] : [],
    ),
  )
}

function resultText({ content }: ToolResultBlock): string {
  if (typeof content === 'string') return content
  return content.flatMap((one) => (one.type === 'text' ? [one.text] : [])).join('\n')
}

/** The fold of the log: pins, exclusions and live edits as the view saw them. */
function stateOf(entries: readonly Entry[]): State {
  const state = new State({ counter: resolveCounter('estimate'), salt: '' })
  for (const entry of entries) state.apply(entry)
  return state
}

/** The newest live edit of a block: its own, else the one that drops its message. */
function liveEdit(state: State, seq: number, block: number): EditEntry | undefined {
  return state.blockEdit(seq, block) ?? state.dropEdits.findLast((edit) => isInRanges(edit, seq))
}

/** A block as text: pictures and files by their names. */
export function plainText(block: Block): string {
  switch (block.type) {
    case 'text':
      return block.text
    case 'reasoning':
      return block.text ?? ''
    case 'tool-call':
      return `${block.name}(${block.arguments})`
    case 'tool-result':
      return typeof block.content === 'string'
        ? block.content
        : block.content.map(plainText).join('\n')
    case 'opaque':
      return JSON.stringify(block.value)
    case 'image':
      return named(block)
    case 'file':
      return named(block, block.name)
  }
}

/** Longer addresses are no names; one that begins with `data:` is the content itself. */
const longestAddress = 200

/** A picture or a file by what is known of it: `[image image/png 78 bytes]`. */
function named({ type, mediaType, data, url = '' }: ImageBlock | FileBlock, name?: string): string {
  const isAddress = !url.startsWith('data:') && url.length <= longestAddress
  const place =
    data === undefined ? (isAddress ? url : '') : `${Math.floor(data.length * 0.75)} bytes`
  return `[${[type, name ?? '', mediaType ?? '', place].filter((word) => word !== '').join(' ')}]`
}
