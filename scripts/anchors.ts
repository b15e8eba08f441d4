// Reference policies over chat messages with known numbers, to validate the judge.

import { resolveCounter } from '../packages/oriel/src/counters.ts'
import type { CreateManager } from '../packages/oriel/src/simulate/replay.ts'

interface Chat {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly { readonly function: { name: string; arguments: string } }[]
}
const counter = resolveCounter('estimate')
const counts = new Map<string, number>()
function count(text: string): number {
  let n = counts.get(text)
  if (n === undefined) {
    n = counter.count(text)
    counts.set(text, n)
  }
  return n
}
function size(m: Chat): number {
  let n = 4 + count(m.content ?? '')
  for (const c of m.tool_calls ?? []) n += 8 + count(c.function.name) + count(c.function.arguments)
  return n
}

/** A manager that keeps all messages and rewrites them for each view. */
function rewriting(make: () => (messages: readonly Chat[]) => readonly Chat[]): CreateManager {
  return () => {
    const messages: Chat[] = []
    const rewrite = make()
    return {
      append(more) {
        messages.push(...more.flatMap(({ foreign }) => foreign as Chat[]))
      },
      view: () => ({ messages: rewrite(messages) }),
    }
  }
}

/** Replaces old results by placeholders once the gain reaches `batch` tokens. */
function keep(last: number, batch: number): CreateManager {
  return rewriting(() => {
    let cleared = 0
    return (messages) => {
      const results = messages.flatMap(({ role }, index) => (role === 'tool' ? [index] : []))
      const old = results.slice(0, Math.max(0, results.length - last))
      const gain = old
        .slice(cleared)
        .reduce((sum, at) => sum + Math.max(0, count(messages[at]?.content ?? '') - 3), 0)
      if (gain > 0 && gain >= batch) cleared = old.length
      const gone = new Set(old.slice(0, cleared))
      return messages.map((m, index) => (gone.has(index) ? { ...m, content: '[Omitted]' } : m))
    }
  })
}

function protect(tail: number, batch: number): CreateManager {
  return rewriting(() => {
    const cleared = new Set<number>()
    return (messages) => {
      let total = 0
      let gain = 0
      const pending: number[] = []
      for (let at = messages.length - 1; at >= 0; at--) {
        const m = messages[at] as Chat
        if (m.role !== 'tool') continue
        if (cleared.has(at)) continue
        total += count(m.content ?? '')
        if (total > tail) {
          pending.push(at)
          gain += count(m.content ?? '')
        }
      }
      if (gain >= batch) for (const at of pending) cleared.add(at)
      return messages.map((m, index) => (cleared.has(index) ? { ...m, content: '[Omitted]' } : m))
    }
  })
}

/**
 * Keeps the newest messages that fit `to`, and cuts again above `from`; system messages, and the
 * first user message if pinned, stay.
 */
function trim(from: number, to: number, pinned: boolean): CreateManager {
  return rewriting(() => {
    let start = 0
    return (messages) => {
      const task = messages.findIndex(({ role }) => role === 'user')
      const stays = (m: Chat, i: number) => m.role === 'system' || (pinned && i === task)
      const head = messages.filter((m, i) => i < start && stays(m, i))
      const shown = () => [
        ...messages.filter((m, i) => i < start && stays(m, i)),
        ...messages.slice(start),
      ]
      const total = [...head, ...messages.slice(start)].reduce((s, m) => s + size(m), 0)
      if (total > from) {
        let left = to - messages.filter(stays).reduce((s, m) => s + size(m), 0)
        let at = messages.length
        while (at > start && left - size(messages[at - 1] as Chat) >= 0) {
          at -= 1
          if (!stays(messages[at] as Chat, at)) left -= size(messages[at] as Chat)
        }
        // Cut at exchange boundaries only.
        at = Math.min(at, messages.length - 1)
        while (at < messages.length && messages[at]?.role === 'tool') at += 1
        if (at >= messages.length) {
          at = messages.length - 1
          while (at > 0 && messages[at]?.role === 'tool') at -= 1
        }
        start = Math.max(start, at)
      }
      return shown()
    }
  })
}

function cut(characters: number): CreateManager {
  return rewriting(
    () => (messages) =>
      messages.map((m) =>
        m.role === 'tool' && (m.content ?? '').length > characters
          ? { ...m, content: (m.content ?? '').slice(0, characters) }
          : m,
      ),
  )
}

export const anchors: Readonly<Record<string, CreateManager>> = {
  'keep 4, every step (91.4, 0.89)': keep(4, 0),
  'keep 4, batch 2k (93.5, 0.65)': keep(4, 2000),
  'keep 10, batch 2k (96.3, 0.72)': keep(10, 2000),
  'protect 40k, clear 20k (99.95, 0.85)': protect(40_000, 20_000),
  'trim 16k every step (93.9, 1.55)': trim(16_000, 16_000, false),
  'trim 16k -> 8k, pinned (92.2, 0.45)': trim(16_000, 8000, true),
  'trim 24k -> 12k, pinned (97.0, 0.53)': trim(24_000, 12_000, true),
  'cut at 2k characters (95.6, 0.77)': cut(2000),
}
