// Equality of units: several definitions, from bytes to the recommended one.

import type { Json } from '../../../../oriel/src/core/log/json.ts'
import { canonicalJson } from '../../../../oriel/src/core/log/json.ts'
import type { Unit } from './unit.ts'

/** 'revised': the same place in the same conversation, with another text of the client's own making. */
export type Likeness = 'same' | 'revised' | 'other'

export interface Key {
  readonly name: string
  /** Compare whole foreign messages instead of units. */
  readonly isRaw?: boolean
  /** Units that take no part in the comparison. */
  ignores(unit: Unit): boolean
  compare(logged: Unit, sent: Unit): Likeness
}

/** Whole messages as they stand on the wire. */
const verbatim: Key = {
  name: 'verbatim',
  isRaw: true,
  ignores: () => false,
  compare: (logged, sent) => same(JSON.stringify(logged) === JSON.stringify(sent)),
}

/** Role, visible text, call id, name, canonical arguments, result text. */
const canonical: Key = {
  name: 'canonical',
  ignores: (unit) => unit.type === 'text' && tidy(unit.text) === '',
  compare(logged, sent) {
    if (sent.type === 'reference')
      return same(logged.type === 'text' && logged.itemId === sent.itemId)
    if (logged.type === 'text' && sent.type === 'text') {
      return same(logged.role === sent.role && tidy(logged.text) === tidy(sent.text))
    }
    if (logged.type === 'call' && sent.type === 'call') {
      const isNamed = logged.id === sent.id && logged.name === sent.name
      return same(isNamed && argumentsText(logged.arguments) === argumentsText(sent.arguments))
    }
    if (logged.type === 'result' && sent.type === 'result') {
      return same(logged.id === sent.id && tidy(logged.text) === tidy(sent.text))
    }
    return 'other'
  },
}

export interface KeyRules {
  /** Arguments need only agree where both have them. */
  readonly hasLenientArguments: boolean
  /** Injected reminders take no part. */
  readonly ignoresReminders: boolean
  /** A result whose text changed is a revision, not another result. */
  readonly allowsRevisions: boolean
}

/** As canonical, with some of the further rules. */
export function createKey(name: string, rules: KeyRules): Key {
  return {
    name,
    ignores: (unit) =>
      canonical.ignores(unit) ||
      (rules.ignoresReminders && unit.type === 'text' && isReminder(unit.text)) ||
      (unit.type === 'reference' && unit.itemId.startsWith('rs_')),
    compare(logged, sent) {
      if (rules.hasLenientArguments && logged.type === 'call' && sent.type === 'call') {
        const isNamed = logged.id === sent.id && logged.name === sent.name
        return same(isNamed && argumentsAgree(logged.arguments, sent.arguments))
      }
      const likeness = canonical.compare(logged, sent)
      const isRevisable =
        rules.allowsRevisions && logged.type === 'result' && sent.type === 'result'
      return isRevisable && likeness === 'other' && logged.id === sent.id ? 'revised' : likeness
    },
  }
}

export const allKeyRules: KeyRules = {
  hasLenientArguments: true,
  ignoresReminders: true,
  allowsRevisions: true,
}

export const keys: readonly Key[] = [verbatim, canonical, createKey('recommended', allKeyRules)]

function same(isSame: boolean): Likeness {
  return isSame ? 'same' : 'other'
}

/** Blanks around a text and the kind of line end carry no meaning, and some clients trim them. */
function tidy(text: string): string {
  return text.replaceAll('\r\n', '\n').trim()
}

/** A text that is nothing but reminders, which agents add, move and remove from request to request. */
function isReminder(text: string): boolean {
  return /^\s*(<system-reminder>[\s\S]*?<\/system-reminder>\s*)+$/.test(text)
}

function argumentsText(text: string): string {
  const value = parse(text)
  return value === undefined ? text : canonicalJson(value)
}

/**
 * Clients send back what their schema made of the arguments: unknown keys gone, defaults filled in. So only a key that
 * both have can contradict; arguments that are not an object on one side cannot.
 */
function argumentsAgree(logged: string, sent: string): boolean {
  const [left, right] = [parse(logged), parse(sent)]
  if (!isRecord(left) || !isRecord(right)) {
    return left === undefined || right === undefined || canonicalJson(left) === canonicalJson(right)
  }
  return Object.keys(left).every(
    (key) =>
      !Object.hasOwn(right, key) ||
      canonicalJson(left[key] ?? null) === canonicalJson(right[key] ?? null),
  )
}

function isRecord(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function parse(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
