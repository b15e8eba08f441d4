// The name of what a message brought, as a person would call it: the file that a command reads, a tool and its target, or who said it.

import type { MessageEntry } from '../log/entry.ts'
import { isResult } from '../state/exchange.ts'
import type { State } from '../state/state.ts'
import { commandIn, fileOf, targetOf } from './digest.ts'
import type { Readable } from './readable.ts'

export interface SourceName {
  readonly name: string
  /** The message that the name is from. */
  readonly seq: number
}

/** Longer targets are cut. */
const targetLength = 32

/**
 * Names messages; undefined for a result whose call no model may read. With `byFile`, a command that reads one file has the name of the
 * file, so that what several commands showed of it has one name.
 */
export function sourceNames(
  state: State,
  readable: Readable,
  { byFile = false }: { readonly byFile?: boolean } = {},
): (entry: MessageEntry) => SourceName | undefined {
  return (entry) => {
    if (entry.role === 'user' || entry.role === 'assistant') {
      const isSaid = entry.role === 'assistant' || entry.origin === 'user'
      if (isSaid) return { name: entry.role, seq: entry.seq }
    }
    const block = (state.item(entry.seq)?.entry ?? entry).blocks.findIndex(isResult)
    const place = state.exchanges.answeredBy({ seq: entry.seq, block })?.call.place
    const calling = place === undefined ? undefined : state.item(place.seq)?.entry
    if (place === undefined || calling === undefined) return undefined
    const call = readable(calling).find(({ position }) => position === place.block)?.block
    if (call?.type !== 'tool-call') return undefined
    const command = byFile ? commandIn(call.arguments) : undefined
    const file = command === undefined ? undefined : fileOf(command)
    const target = file ?? targetOf(call.arguments, targetLength)
    return { name: target === '' ? call.name : target, seq: place.seq }
  }
}
