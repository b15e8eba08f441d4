// Needed facts of a recorded agent: values it typed that came from an earlier tool result or user
// message.

import type { Opened, RecordedMessage } from './recording.ts'
import type { Sightings } from './sightings.ts'
import { isPath, plain, suffixesOf, valuesIn, wholeValue } from './values.ts'

export interface Fact {
  readonly value: string
  /** Typed in a tool call's arguments (the primary measure) or in text. */
  readonly place: 'arguments' | 'text'
  /** Index of the recorded message in which it first appeared. */
  readonly first: number
  /** Model calls since it last appeared anywhere, including the agent's own messages. */
  readonly age: number
}

/** Facts needed by one model call. */
export interface Need {
  /** Index of the assistant message in the recording. */
  readonly answer: number
  readonly facts: readonly Fact[]
}

/**
 * A value needed by more than this share of a source's conversations is common to the source, not a
 * fact.
 */
const commonShare = 0.3
/** Minimum conversations of a source for that test. */
const fewestConversations = 5

/** The facts needed by each model call, before removing values common to the source. */
export function needsOf(recording: Opened, sightings: Sightings): readonly Need[] {
  const history = new History(recording, sightings)
  const answers = new Set(recording.answers)
  const needs: Need[] = []
  for (let position = 0; position < recording.recorded.length; position++) {
    if (answers.has(position)) {
      needs.push({ answer: position, facts: history.factsAt(position) })
    }
    history.add(position)
  }
  return needs
}

/** Values common to a source, computed from the values needed by each of its conversations. */
export function commonValues(conversations: readonly (readonly string[])[]): ReadonlySet<string> {
  const common = new Set<string>()
  if (conversations.length < fewestConversations) return common
  const times = new Map<string, number>()
  for (const values of conversations) {
    for (const value of new Set(values)) times.set(value, (times.get(value) ?? 0) + 1)
  }
  for (const [value, count] of times) {
    if (count > conversations.length * commonShare) common.add(value)
  }
  return common
}

/** All values that a conversation needed. */
export function neededValues(needs: readonly Need[]): readonly string[] {
  return [...new Set(needs.flatMap(({ facts }) => facts.map(({ value }) => value)))]
}

export function withoutCommon(
  needs: readonly Need[],
  common: ReadonlySet<string>,
): readonly Need[] {
  if (common.size === 0) return needs
  return needs.map(({ answer, facts }) => ({
    answer,
    facts: facts.filter(({ value }) => !common.has(value)),
  }))
}

/** Inverted index of the messages so far, so that values are found without a full scan. */
class History {
  readonly #recording: Opened
  readonly #sightings: Sightings
  /** Message indexes by word. */
  readonly #positions = new Map<string, number[]>()
  readonly #names = new Set<string>()
  #calls = 0
  readonly #callsBefore: number[] = []

  constructor(recording: Opened, sightings: Sightings) {
    this.#recording = recording
    this.#sightings = sightings
    for (const { calls } of recording.recorded) {
      for (const call of calls) for (const name of namesIn(call)) this.#names.add(name)
    }
  }

  add(position: number): void {
    const { role, texts } = this.#recording.recorded[position] as RecordedMessage
    if (role === 'assistant') this.#calls += 1
    this.#callsBefore[position] = this.#calls
    for (const text of texts) {
      for (const [word] of this.#sightings.plain(text).matchAll(/\w+/g)) {
        const positions = this.#positions.get(word)
        if (positions === undefined) this.#positions.set(word, [position])
        else if (positions.at(-1) !== position) positions.push(position)
      }
    }
  }

  factsAt(position: number): readonly Fact[] {
    const { texts, calls } = this.#recording.recorded[position] as RecordedMessage
    const facts = new Map<string, Fact>()
    const take = (values: Iterable<string>, place: Fact['place']): void => {
      for (const value of values) {
        const found = this.#find(value)
        if (found === undefined || facts.has(found.value) || !this.#isNeed(found)) continue
        const age = this.#calls - (this.#callsBefore[found.last] as number)
        facts.set(found.value, { value: found.value, place, first: found.first, age })
      }
    }
    for (const call of calls) {
      for (const leaf of leavesOf(call.arguments)) {
        const whole = wholeValue(leaf)
        if (whole !== undefined && !isPath(whole)) take([whole], 'arguments')
        take(valuesIn(leaf), 'arguments')
      }
    }
    const spoken = calls.length === 0 ? texts : textsBeside(texts, calls)
    for (const text of spoken) take(valuesIn(plain(text)), 'text')
    return [...facts.values()]
  }

  /**
   * Finds a value, or the longest suffix of a path, in earlier messages, with its first and last
   * position.
   */
  #find(
    value: string,
  ): { readonly value: string; readonly first: number; readonly last: number } | undefined {
    for (const candidate of isPath(value) ? suffixesOf(value) : [value]) {
      const place = this.#place(candidate)
      if (place !== undefined) return { value: candidate, ...place }
    }
    return undefined
  }

  #place(value: string): { readonly first: number; readonly last: number } | undefined {
    let rarest: readonly number[] | undefined
    for (const [word] of value.matchAll(/\w+/g)) {
      const positions = this.#positions.get(word)
      if (positions === undefined) return undefined
      if (rarest === undefined || positions.length < rarest.length) rarest = positions
    }
    if (rarest === undefined) return undefined
    const has = (position: number): boolean => this.#stands(value, position)
    const first = rarest.find(has)
    if (first === undefined) return undefined
    return { first, last: rarest.findLast(has) as number }
  }

  #stands(value: string, position: number): boolean {
    const { texts } = this.#recording.recorded[position] as RecordedMessage
    return texts.some((text) => this.#sightings.has(text, value))
  }

  /**
   * True if it came from a tool or the user, and is not a tool or argument name or in the system
   * text.
   */
  #isNeed({ value, first }: { readonly value: string; readonly first: number }): boolean {
    const { role } = this.#recording.recorded[first] as RecordedMessage
    if (role !== 'tool' && role !== 'user') return false
    if (this.#names.has(value)) return false
    const { recorded, frameTexts } = this.#recording
    if (frameTexts.some((text) => this.#sightings.has(text, value))) return false
    return !recorded.some(
      (message, position) => message.role === 'system' && this.#stands(value, position),
    )
  }
}

/** The names of a tool and its arguments. */
function namesIn(call: { readonly name: string; readonly arguments: string }): readonly string[] {
  const names = [call.name]
  visit(parse(call.arguments), (_, key) => {
    if (key !== undefined) names.push(key)
  })
  return names
}

/** The strings and numbers in a call's arguments; the whole text if it is not JSON. */
function leavesOf(text: string): readonly string[] {
  const value = parse(text)
  if (value === undefined) return [plain(text)]
  const leaves: string[] = []
  visit(value, (leaf) => {
    if (typeof leaf === 'string' || typeof leaf === 'number') leaves.push(String(leaf))
  })
  return leaves
}

function visit(value: unknown, see: (leaf: unknown, key?: string) => void, key?: string): void {
  see(value, key)
  if (Array.isArray(value)) for (const item of value) visit(item, see)
  else if (typeof value === 'object' && value !== null) {
    for (const [name, item] of Object.entries(value)) visit(item, see, name)
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function textsBeside(
  texts: readonly string[],
  calls: readonly { readonly name: string; readonly arguments: string }[],
): readonly string[] {
  const own = new Set(calls.flatMap((call) => [call.name, call.arguments]))
  return texts.filter((text) => !own.has(text))
}
