// What must be true after every operation.

import { expect } from 'vitest'
import type { EditEntry, MessageEntry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { State } from '../../src/core/state/state.ts'
import { resolveCounter } from '../../src/counters.ts'
import { project } from '../../src/project.ts'
import type { FormatName } from '../../src/providers/format.ts'
import { formatNames } from '../../src/providers/registry.ts'
import type { Thread } from '../../src/thread/thread.ts'
import {
  covers,
  type Folded,
  type Gist,
  gistOfChat,
  isComplete,
  placesOf,
  shownGists,
  widened,
} from './naive.ts'
import type { Who } from './operations.ts'
import { bytesOf, dryView, linesOf, type Session } from './session.ts'
import { factsOf } from './state-facts.ts'
import { argumentsOf } from './talk.ts'

/** Looks at a session after each operation. One object for each run: it may remember. */
export interface Check {
  after(session: Session, who: Who): Promise<void>
}

/** No entry that was ever read changes, moves or disappears; times never go backwards. */
export function prefixCheck(): Check {
  const known = new Map<string, readonly string[]>()
  return {
    async after(session) {
      for (const id of session.branches) {
        const log = await session.log(id)
        const lines = linesOf(log)
        const before = known.get(id) ?? []
        expect(lines.slice(0, before.length)).toEqual(before)
        known.set(id, lines)
        expect(log.map(({ seq }) => seq)).toEqual(log.map((_, index) => index + 1))
        expect(new Set(log.map((entry) => entry.id)).size).toBe(log.length)
        expect(log.every(({ at }, index) => at >= (log[index - 1]?.at ?? 0))).toBe(true)
      }
    },
  }
}

/** Every message is dropped by one live edit at most, and the newest checkpoint knows how many it stands for. */
export function coverageCheck(): Check {
  return {
    async after(session, who) {
      const { messages, live } = await session.folded(who)
      const doubled = messages.filter(
        ({ seq }) => live.filter((edit) => covers(edit, seq)).length > 1,
      )
      expect(doubled.map(({ seq }) => seq)).toEqual([])
      const made = live.filter(({ target, text }) => 'ranges' in target && text !== undefined)
      if (made.length === 0) return
      const covered = messages.filter(({ seq }) => made.some((edit) => covers(edit, seq)))
      // What models may not read is covered, and not counted.
      const isOpen = ({ audience, blocks }: MessageEntry): boolean =>
        [audience, ...blocks.map((block) => block.audience)].every((one) => one === undefined)
      const total = Number(made.at(-1)?.digest?.total)
      if (covered.every(isOpen) && !live.some(({ isFinal }) => isFinal)) {
        expect(total).toBe(covered.length)
      } else expect(total).toBeLessThanOrEqual(covered.length)
    },
  }
}

/** The thread shows what a naive fold of the log shows, in every format. */
export function naiveCheck(): Check {
  return {
    async after(session, who) {
      const folded = await session.folded(who)
      const stated = folded.messages.map(({ turn, step }) => ({ turn, step }))
      expect(stated).toEqual(placesOf(folded.messages))
      const gists = shownGists(widened(folded, {}))
      const thread = session.thread(who)
      const chat = await dryView(thread, { policy: {} })
      expect(chat.messages.map(gistOfChat)).toEqual(gists)
      for (const format of formatNames) {
        const view = await dryView(thread, { policy: {}, format })
        const projected = projectedTo(format, gists.map(chatOf))
        expect(tagsIn(view.messages)).toEqual(tagsIn(projected))
      }
    },
  }
}

/** The same question has the same answer: again, from another process, and for the other object. */
export function bytesCheck(): Check {
  return {
    async after(session, who) {
      const thread = session.thread(who)
      const { thread: reloaded } = await session.openActor(thread.id)
      const other = session.thread(who === 0 ? 1 : 0)
      for (const format of formatNames) {
        const bytes = async (viewed: Thread): Promise<string> =>
          bytesOf(await dryView(viewed, { format }), session.scenario)
        const first = await bytes(thread)
        expect(await bytes(thread)).toBe(first)
        expect(await bytes(reloaded)).toBe(first)
        if (other.id === thread.id) expect(await bytes(other)).toBe(first)
      }
      expect(reloaded.estimate()).toBe(thread.estimate())
    },
  }
}

/** The state that a thread keeps equals a fold of the whole log, in everything that can be asked of it. */
export function scratchCheck(): Check {
  return {
    async after(session, who) {
      const { thread, journal } = session.actor(who)
      const log = await session.log(thread.id)
      if (journal === undefined || journal.key.thread !== thread.id) return
      await journal.refresh()
      const fresh = new State({ counter: resolveCounter('estimate'), salt: journal.state.salt })
      for (const entry of log) fresh.apply(entry)
      // A state that began from a snapshot has left dropped messages in the store.
      const { state } = journal
      const held = log.filter(
        ({ type, seq }) => !state.isPartial || type !== 'message' || state.item(seq) !== undefined,
      )
      // Nor does it have the texts of checkpoints that a newer one replaced: they are read where that one is undone.
      const newest = fresh.dropEdits.findLast(isCheckpoint)
      const factsIn = (one: State): unknown => {
        const facts = factsOf(one, held)
        return state.isPartial ? withoutTexts(facts, newest?.id) : facts
      }
      expect(factsIn(state)).toEqual(factsIn(fresh))
    },
  }
}

function isCheckpoint({ target, text }: EditEntry): boolean {
  return 'ranges' in target && text !== undefined
}

/** The facts without texts and digests of all checkpoints but one. */
function withoutTexts(facts: unknown, newest: string | undefined): unknown {
  if (Array.isArray(facts)) return facts.map((one) => withoutTexts(one, newest))
  if (typeof facts !== 'object' || facts === null) return facts
  if (Object.getPrototypeOf(facts) !== Object.prototype) return facts
  const edit = facts as EditEntry
  if (edit.type === 'edit' && isCheckpoint(edit) && edit.id !== newest) {
    const { digest: _, ...rest } = edit
    return { ...rest, text: '' }
  }
  return Object.fromEntries(
    Object.entries(facts).map(([key, value]) => [key, withoutTexts(value, newest)]),
  )
}

/** Without edits, undos, marks and other system texts in between, a request only grows at its end. */
export function growthCheck(): Check {
  const sent = new Map<string, { blocks: readonly string[]; length: number }>()
  return {
    async after(session, who) {
      const thread = session.thread(who)
      const folded = widened(await session.folded(who), {})
      if (!isComplete(folded)) return
      for (const format of formatNames) {
        const key = `${thread.id} ${format}`
        const view = await dryView(thread, { format, policy: {} })
        const blocks = blocksOf(format, view.messages)
        const before = sent.get(key)
        if (before !== undefined && !hasChanged(folded, before.length)) {
          expect(blocks.slice(0, before.blocks.length)).toEqual(before.blocks)
        }
        sent.set(key, { blocks, length: folded.log.length })
      }
    },
  }
}

/** What was sent at every step can be rebuilt byte for byte. */
export function requestCheck(): Check {
  return {
    async after(session, who) {
      const { log } = await session.folded(who)
      const steps = log.flatMap((entry) => (entry.type === 'request' ? [entry.step] : []))
      for (const step of new Set(steps)) {
        const { exact, request } = await session.thread(who).requestAt(step)
        expect({ step, seq: request.seq, exact }).toEqual({ step, seq: request.seq, exact: true })
      }
    },
  }
}

function hasChanged({ log }: Folded, since: number): boolean {
  return log.slice(since).some((entry) => {
    if (entry.type === 'setting') return entry.name === 'leading'
    return entry.type === 'edit' || entry.type === 'undo' || entry.type === 'mark'
  })
}

/** Encoded blocks with their role, whatever messages they are grouped into. */
function blocksOf(format: FormatName, messages: readonly unknown[]): readonly string[] {
  // Providers whose roles alternate: neighbours are merged.
  const isMerged = format === 'anthropic' || format === 'gemini'
  if (!isMerged) return messages.map((message) => JSON.stringify(message))
  return messages.flatMap((message) => {
    const { role, content, parts } = message as Readonly<Record<string, unknown>>
    const said = parts ?? content
    const blocks = Array.isArray(said) ? said : [{ type: 'text', text: said }]
    return blocks.map((block) => JSON.stringify([role, block]))
  })
}

/** None where nothing is left to send, which a projection refuses. */
function projectedTo(format: FormatName, messages: readonly unknown[]): readonly unknown[] {
  try {
    return project(messages, undefined, { to: format }).messages
  } catch (error) {
    if (OrielError.is(error, 'cannot-project')) return []
    throw error
  }
}

function chatOf({ role, text, calls, answers }: Gist): unknown {
  if (answers !== undefined) return { role, tool_call_id: answers, content: text }
  if (calls.length === 0) return { role, content: text }
  const made = calls.map((id) => ({
    id,
    type: 'function',
    function: { name: 'read', arguments: JSON.stringify(argumentsOf(id)) },
  }))
  return { role, content: text === '' ? null : text, tool_calls: made }
}

/** The tags of everything that is said, and the ids of calls, in order. */
function tagsIn(messages: readonly unknown[]): readonly string[] {
  return JSON.stringify(messages).match(/T\d+\.|c\d+_\d/g) ?? []
}
