// Values of one log, each part of them once. A value that grew by an item costs that item: lists are chains, and what was there before
// is referred to by its number.

import { assert } from '../../core/log/errors.ts'
import { isObject, type Json } from '../../core/log/json.ts'

/**
 * A value as it is stored where it is used. Short ones stand as they are; a list of one number refers to a node; a short list, which could
 * be taken for one, follows a 0.
 */
export type Reference =
  | Exclude<Json, readonly Json[]>
  | readonly [node: number]
  | readonly [escape: 0, list: Json]

/**
 * What is stored of a part: a long text; an object whose fields are references; or the item of a list with the number of the list before
 * it, 0 for none.
 */
export type ValueNode =
  | string
  | readonly [before: number, item: Reference]
  | { readonly [key: string]: Reference }

/** Values of about as many characters stand where they are used: a node of their own would cost more than it saves. */
const inlineLength = 48

/**
 * Contracts:
 * - `read(write(value))` is the value, keys in their order.
 * - A long part that any earlier value had is not stored again.
 * - Numbers count up from 1 in the order of `add`: the same nodes in the same order give the same table.
 */
export class ValueTable {
  /** A node's number is its index + 1. Lists and objects are kept as text. */
  readonly #nodes: { readonly text: string; readonly isText: boolean }[] = []
  readonly #texts = new Map<string, number>()
  readonly #others = new Map<string, number>()

  get size(): number {
    return this.#nodes.length
  }

  /** Adds nodes that were stored. */
  add(nodes: readonly ValueNode[]): void {
    for (const node of nodes) {
      if (typeof node === 'string') this.#number(node, true)
      else this.#number(JSON.stringify(node), false)
    }
  }

  /** The nodes after the first `count`, to be stored. */
  since(count: number): readonly ValueNode[] {
    return this.#nodes.slice(count).map(parse)
  }

  /** How long the nodes after the first `count` are. */
  charactersSince(count: number): number {
    return this.#nodes.slice(count).reduce((sum, { text }) => sum + text.length, 0)
  }

  /** Forgets all but the first `count` nodes: they were not stored. */
  truncate(count: number): void {
    for (const { text, isText } of this.#nodes.splice(count)) {
      const known = isText ? this.#texts : this.#others
      known.delete(text)
    }
  }

  write(value: Json): Reference {
    if (roomAfter(value, inlineLength) >= 0) return isList(value) ? [0, value] : value
    if (typeof value === 'string') return [this.#number(value, true)]
    if (isList(value)) {
      let before = 0
      for (const item of value) {
        before = this.#number(JSON.stringify([before, this.write(item)]), false)
      }
      return [before]
    }
    assert(isObject(value), 'only texts, lists and objects are long')
    const fields = Object.entries(value).map(([key, field]) => [key, this.write(field as Json)])
    return [this.#number(JSON.stringify(Object.fromEntries(fields)), false)]
  }

  read(reference: Reference): Json {
    return this.#read(reference, new Map())
  }

  #number(text: string, isText: boolean): number {
    const numbers = isText ? this.#texts : this.#others
    const known = numbers.get(text)
    if (known !== undefined) return known
    const number = this.#nodes.push({ text, isText })
    numbers.set(text, number)
    return number
  }

  #read(reference: Reference, done: Map<number, Json>): Json {
    if (!isList(reference)) return reference
    const [number, list] = reference as readonly [number, Json?]
    if (list !== undefined) return list
    const known = done.get(number)
    if (known !== undefined) return known
    const value = this.#build(this.#node(number), done)
    done.set(number, value)
    return value
  }

  #build(node: ValueNode, done: Map<number, Json>): Json {
    if (typeof node === 'string') return node
    if (!isItem(node)) {
      return Object.fromEntries(
        Object.entries(node).map(([key, field]) => [key, this.#read(field, done)]),
      )
    }
    // A loop, since lists may be longer than the stack is deep.
    const items: Json[] = []
    for (let [before, item] = node; ; ) {
      items.push(this.#read(item, done))
      if (before === 0) return items.reverse()
      const next = this.#node(before)
      assert(typeof next !== 'string' && isItem(next), 'an item of a list follows a list')
      ;[before, item] = next
    }
  }

  #node(number: number): ValueNode {
    const node = this.#nodes[number - 1]
    assert(node !== undefined, 'a reference names a stored node')
    return parse(node)
  }
}

function parse({ text, isText }: { readonly text: string; readonly isText: boolean }): ValueNode {
  return isText ? text : (JSON.parse(text) as ValueNode)
}

function isList(value: Json | Reference): value is readonly Json[] {
  return Array.isArray(value)
}

function isItem(
  node: Exclude<ValueNode, string>,
): node is readonly [before: number, item: Reference] {
  return Array.isArray(node)
}

/** How many of so many characters are left after the value; it stops at the first that is too much. */
function roomAfter(value: Json, room: number): number {
  if (typeof value === 'string') return room - value.length - 2
  if (typeof value !== 'object' || value === null) return room - 4
  let left = room - 2
  for (const [key, field] of Object.entries(value)) {
    left = roomAfter(field as Json, left - (isList(value) ? 1 : key.length + 4))
    if (left < 0) break
  }
  return left
}
