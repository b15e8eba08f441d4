// Encoded messages that say exactly what the caller's own say, in the caller's own order of keys: so their bytes are the same too.

import { cloneJson, equalJson, isObject, type Json } from './core/json.ts'

export interface OwnMessages {
  /** The messages as the caller passed them. Only read. */
  readonly messages: readonly unknown[]
  /** Positions of those that are shown, in the order of the view. */
  readonly shown: readonly number[]
}

/**
 * How far from its expected place an original is looked for. A format may join, split or leave out a message; what is not found is
 * right all the same, only its keys are in the format's order.
 */
const reach = 4

/** The same messages; where one equals an original, with its order of keys. Shares nothing with the originals. */
export function inOwnOrder(encoded: readonly Json[], own: OwnMessages): readonly Json[] {
  let expected = 0
  return encoded.map((message) => {
    const at = nearest(expected, (place) => {
      const index = own.shown[place]
      return index !== undefined && equalJson(message, own.messages[index])
    })
    expected = (at ?? expected) + 1
    const index = at === undefined ? undefined : own.shown[at]
    if (index === undefined || hasSameOrder(message, own.messages[index])) return message
    return cloneJson(own.messages[index], `messages[${index}]`)
  })
}

/** The nearest place that fits: the expected one, then those around it. */
function nearest(expected: number, fits: (place: number) => boolean): number | undefined {
  for (let distance = 0; distance <= reach; distance++) {
    if (fits(expected + distance)) return expected + distance
    if (distance > 0 && fits(expected - distance)) return expected - distance
  }
  return undefined
}

/** Whether two equal values have their keys in the same order. */
function hasSameOrder(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.every((item, index) => hasSameOrder(item, b[index]))
  }
  if (!isObject(a) || !isObject(b)) return true
  const keys = Object.keys(b).filter((key) => b[key] !== undefined)
  return Object.keys(a)
    .filter((key) => a[key] !== undefined)
    .every((key, index) => key === keys[index] && hasSameOrder(a[key], b[key]))
}
