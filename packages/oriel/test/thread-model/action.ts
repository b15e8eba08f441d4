// A request to a Thread that can be made again, and what to say in it.

import type { Entry, MessageEntry } from '../../src/core/log/entry.ts'
import type { View } from '../../src/thread/view/view.ts'
import { type Folded, waitingCalls } from './naive.ts'
import type { Session } from './session.ts'
import type { Piece, Saying } from './talk.ts'

/** A call that can be made again with the same arguments. */
export interface Action {
  run(): Promise<void>
  /** Compares the log before and after with what was asked for. */
  verify(before: Folded, after: Folded): void | Promise<void>
  /** What was viewed, if it was a plain view of the thread. */
  viewed?(): View | undefined
}

/** Gives pieces their words; results answer what waits. */
export function sayAll(
  session: Session,
  pieces: readonly Piece[],
  messages: readonly MessageEntry[],
): readonly Saying[] {
  const waiting = [...waitingCalls(messages)]
  return pieces.flatMap((piece) => {
    const sayings = session.speech.say(piece, waiting)
    for (const { calls, answers } of sayings) {
      waiting.push(...calls)
      if (answers !== undefined) waiting.splice(waiting.indexOf(answers), 1)
    }
    return sayings
  })
}

/** Entries that came after those of `before`. */
export function newEntries(before: Folded, after: Folded): readonly Entry[] {
  return after.log.slice(before.log.length)
}
