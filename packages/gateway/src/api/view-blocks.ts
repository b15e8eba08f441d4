// The log beside the view: every block in order, with the form that it has there.

import {
  type Block,
  type Change,
  decode,
  type EditEntry,
  type Entry,
  type FileBlock,
  type Form,
  type FormatName,
  type ImageBlock,
  type Json,
  type ToolResultBlock,
} from 'oriel'

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

export function blocksOf(
  entries: readonly Entry[],
  trace: readonly Change[],
  sent: { readonly format: FormatName; readonly messages: readonly Json[] },
): readonly ViewBlock[] {
  const results = resultsIn(sent.format, sent.messages)
  const changes = new Map(trace.map((change) => [change.id, change]))
  const edits = liveEdits(entries)
  const marks = marksOf(entries)
  return entries.flatMap((entry) => {
    if (entry.type !== 'message') return []
    const { id, seq, turn, step, role, kind } = entry
    const { isPinned, isExcluded } = marks(seq)
    return entry.blocks.map((block, index): ViewBlock => {
      const own = String(block.id ?? id)
      const change = changes.get(own)
      const edit = change === undefined ? undefined : edits(seq, index)
      const isHidden = isExcluded || (entry.audience !== undefined && !isShown(entry.audience))
      const form = change?.form ?? (isHidden ? 'dropped' : 'full')
      const isShort = form !== 'full' && form !== 'dropped'
      const sent = block.type === 'tool-result' ? results.get(block.callId) : undefined
      const text = isShort ? (sent ?? edit?.text ?? '') : form === 'full' ? textOf(block) : ''
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

/** The text of each result that a request carries, by the id of its call: a policy for one call leaves no edit in the log to read it from. */
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

function isShown(audience: object): boolean {
  return !('now' in audience) || audience.now !== false
}

/** The newest edit of a block that was not undone. */
function liveEdits(
  entries: readonly Entry[],
): (seq: number, block: number) => EditEntry | undefined {
  const undone = new Set(entries.flatMap((entry) => (entry.type === 'undo' ? [entry.edit] : [])))
  const own = new Map<string, EditEntry>()
  const drops: EditEntry[] = []
  for (const entry of entries) {
    if (entry.type !== 'edit' || undone.has(entry.id)) continue
    if ('ranges' in entry.target) drops.push(entry)
    else own.set(`${entry.target.seq}/${entry.target.block}`, entry)
  }
  return (seq, block) =>
    own.get(`${seq}/${block}`) ??
    drops.findLast(
      ({ target }) =>
        'ranges' in target && target.ranges.some(([from, to]) => seq >= from && seq <= to),
    )
}

function marksOf(
  entries: readonly Entry[],
): (seq: number) => { isPinned: boolean; isExcluded: boolean } {
  const pinned = new Set<number>()
  const excluded = new Set<number>()
  for (const entry of entries) {
    if (entry.type !== 'mark') continue
    const { mark, target } = entry
    if (mark === 'pin') pinned.add(target)
    else if (mark === 'unpin') pinned.delete(target)
    else if (mark === 'exclude') excluded.add(target)
    else excluded.delete(target)
  }
  return (seq) => ({ isPinned: pinned.has(seq), isExcluded: excluded.has(seq) })
}

function textOf(block: Block): string {
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
        : block.content.map(textOf).join('\n')
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
