// Recorded conversation, parsed once: its messages as drafts, and its model calls.

import type { Block } from '../core/log/block.ts'
import type { Draft } from '../core/log/entry.ts'
import type { Frame } from '../core/view/view.ts'
import type { FormatName } from '../providers/format.ts'
import { formatNamed } from '../providers/registry.ts'
import { framePieces } from './pieces.ts'

/** A conversation as recorded. */
export interface Recording {
  readonly id: string
  /** Its source. Values shared by many conversations of a source are not facts. @default '' */
  readonly source?: string
  /** @default 'openai-chat' */
  readonly format?: FormatName
  /** Messages, or items for openai-responses. */
  readonly messages: readonly unknown[]
  readonly frame?: Frame
  /** Time of each message, in milliseconds since the epoch; absent or undefined = unknown. */
  readonly times?: readonly (number | undefined)[]
}

export interface RecordedMessage {
  readonly role: Draft['role']
  /** The message as a draft. */
  readonly draft: Draft
  /** The source messages. If two drafts share one, the first has it. */
  readonly foreign: readonly unknown[]
  /** Texts that a model reads. */
  readonly texts: readonly string[]
  /** Tool calls in it. */
  readonly calls: readonly { readonly name: string; readonly arguments: string }[]
  readonly at?: number
}

export interface Opened extends Recording {
  readonly source: string
  readonly format: FormatName
  /** Frame texts: system text, tool names and descriptions. */
  readonly frameTexts: readonly string[]
  readonly recorded: readonly RecordedMessage[]
  /**
   * Indexes in `recorded` of model answers. A greeting before any user message was not a model
   * call.
   */
  readonly answers: readonly number[]
}

export function openRecording(recording: Recording): Opened {
  const { source = '', format = 'openai-chat', messages, times } = recording
  let taken = 0
  const recorded = formatNamed(format)
    .decode(messages, 'messages')
    .map(({ draft, from, to }): RecordedMessage => {
      const blocks: readonly Block[] =
        typeof draft.content === 'string' ? [{ type: 'text', text: draft.content }] : draft.content
      const at = times?.[from]
      const foreign = messages.slice(Math.max(from, taken), to)
      taken = Math.max(taken, to)
      return {
        role: draft.role,
        draft,
        foreign,
        texts: textsIn(blocks),
        calls: blocks.flatMap((block) => (block.type === 'tool-call' ? [block] : [])),
        ...(at === undefined ? {} : { at }),
      }
    })
  const firstSpoken = recorded.findIndex(({ role }) => role === 'user' || role === 'tool')
  const answers = recorded.flatMap(({ role }, index) =>
    role === 'assistant' && firstSpoken !== -1 && index > firstSpoken ? [index] : [],
  )
  const frameTexts = framePieces(recording.frame).flatMap(({ texts }) => texts)
  return { ...recording, source, format, frameTexts, recorded, answers }
}

/** All texts that a model reads in these blocks. */
export function textsIn(blocks: readonly Block[]): readonly string[] {
  return blocks.flatMap(textsOf)
}

function textsOf(block: Block): readonly string[] {
  switch (block.type) {
    case 'text':
      return [block.text]
    case 'reasoning':
      return block.text === undefined ? [] : [block.text]
    case 'tool-call':
      return [block.name, block.arguments]
    case 'tool-result':
      return typeof block.content === 'string' ? [block.content] : block.content.flatMap(textsOf)
    default:
      return []
  }
}
