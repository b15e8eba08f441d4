// Imprints: what plain data looked like, to see later whether somebody changed it in place.

import { areSameArrays, areSameObjects, type Compare } from './shapes.ts'

/**
 * A growing list of values as they were. Their objects stand in one array for each shape, their fields in another, so that comparing is one
 * loop through memory for each shape. Strings are shared: an imprint costs the structure, not the text.
 */
export class Imprint {
  readonly #values: unknown[] = []
  /** Where the objects of each value begin in `#places`; undefined for a value that is frozen, which nobody can change. */
  readonly #starts: (number | undefined)[] = []
  /** Every object and array of a value, itself first. */
  readonly #places: Place[] = []
  readonly #shapes: Shape[] = []
  readonly #arrays: Shape = {
    compare: areSameArrays,
    keys: [],
    objects: [],
    fields: [],
    starts: [],
  }
  readonly #byKeys: ByKeys = {}
  #replaced = 0

  /** How many values were given as other objects that looked the same, so far. */
  get replaced(): number {
    return this.#replaced
  }

  /** How many values it has. */
  get length(): number {
    return this.#values.length
  }

  /** Adds a value of plain JSON. False, and nothing is added, for anything else, such as an instance of a class, whose state nobody can see. */
  add(value: unknown): boolean {
    const start = this.#places.length
    const isPlain = orFalse(() => this.#press(value))
    const isFrozen = isPlain && this.#isFrozen(start)
    if (isPlain) {
      this.#values.push(value)
      this.#starts.push(isFrozen ? undefined : start)
    }
    if (isFrozen || !isPlain) this.#cut(start)
    return isPlain
  }

  /**
   * Whether a list begins with these values as they were, keys in the same order. About 15 ns for a message: a string that was not
   * replaced is one comparison of pointers, however long it is. Other objects that look alike are remembered instead of the first ones.
   */
  isBeginningOf(values: readonly unknown[]): boolean {
    return orFalse(() => {
      const own = this.#values
      if (values.length < own.length) return false
      for (let index = 0; index < own.length; index++) {
        const value = values[index]
        if (value !== own[index] && !this.#replace(index, value)) return false
      }
      return this.#isUnchanged()
    })
  }

  /** Whether its values are as they were. */
  isUnchanged(): boolean {
    return orFalse(() => this.#isUnchanged())
  }

  /** Forgets all but the first values. */
  truncate(length: number): void {
    const start = this.#starts.slice(length).find((one) => one !== undefined)
    if (start !== undefined) this.#cut(start)
    this.#values.length = length
    this.#starts.length = length
  }

  #isUnchanged(): boolean {
    return isUnchanged(this.#arrays) && this.#shapes.every(isUnchanged)
  }

  #press(value: unknown): boolean {
    if (!isObject(value)) return isPlainLeaf(value)
    const isArray = Array.isArray(value)
    const keys = isArray ? value.keys() : keysOf(value)
    if (keys === 'not plain') return false
    const shape = isArray ? this.#arrays : this.#shapeOf(keys as readonly string[])
    this.#places.push({ shape, at: shape.objects.length })
    shape.objects.push(value)
    shape.starts.push(shape.fields.length)
    const inside: unknown[] = []
    if (isArray) shape.fields.push(value.length)
    for (const key of keys) {
      const field = plainField(value, key)
      if (field === undefined) return false
      shape.fields.push(field.value)
      inside.push(field.value)
    }
    return inside.every((field) => this.#press(field))
  }

  #shapeOf(keys: readonly string[]): Shape {
    let node = this.#byKeys
    for (const key of keys) {
      node.next ??= new Map()
      const next: ByKeys = node.next.get(key) ?? {}
      node.next.set(key, next)
      node = next
    }
    if (node.shape === undefined) {
      node.shape = { compare: areSameObjects, keys, objects: [], fields: [], starts: [] }
      this.#shapes.push(node.shape)
    }
    return node.shape
  }

  /** Takes another object in the place of one that looked the same; false where it did not. */
  #replace(index: number, value: unknown): boolean {
    if (!isObject(value)) return false
    const start = this.#starts[index]
    const end = this.#places.length
    if (start === undefined && !this.#press(this.#values[index])) return false
    const middle = this.#places.length
    const isPlain = this.#press(value)
    const was =
      start === undefined ? this.#places.slice(end, middle) : this.#placesOf(index, start, end)
    const own = this.#places.slice(middle)
    const isTaken = isPlain && areAlike(own, was) && (start !== undefined || this.#isFrozen(middle))
    if (isTaken && start !== undefined)
      for (const [at, place] of own.entries()) move(place, was[at])
    if (isTaken) this.#values[index] = value
    if (isTaken) this.#replaced += 1
    this.#cut(end)
    return isTaken
  }

  #placesOf(index: number, start: number, end: number): readonly Place[] {
    let next = index + 1
    while (next < this.#starts.length && this.#starts[next] === undefined) next++
    return this.#places.slice(start, this.#starts[next] ?? end)
  }

  #isFrozen(start: number): boolean {
    for (let index = start; index < this.#places.length; index++) {
      const { shape, at } = this.#places[index] as Place
      if (!Object.isFrozen(shape.objects[at])) return false
    }
    return true
  }

  /** Forgets what was pressed from here on. */
  #cut(start: number): void {
    while (this.#places.length > start) {
      const { shape } = this.#places.pop() as Place
      shape.objects.pop()
      shape.fields.length = shape.starts.pop() as number
    }
  }
}

/** The objects with the same keys in the same order, or all arrays. */
interface Shape {
  readonly compare: Compare
  /** None for arrays. */
  readonly keys: readonly string[]
  readonly objects: object[]
  readonly fields: unknown[]
  /** Where the fields of each object begin. */
  readonly starts: number[]
}

interface Place {
  readonly shape: Shape
  readonly at: number
}

interface ByKeys {
  shape?: Shape
  next?: Map<string, ByKeys>
}

function isUnchanged({ compare, objects, fields, keys }: Shape): boolean {
  return compare(objects as never, fields, keys)
}

function areAlike(one: readonly Place[], other: readonly Place[]): boolean {
  return (
    one.length === other.length &&
    one.every((place, index) => {
      const was = other[index] as Place
      if (place.shape !== was.shape) return false
      const before = fieldsAt(was)
      const fields = fieldsAt(place)
      return (
        fields.length === before.length &&
        fields.every((field, at) => (isObject(field) ? isObject(before[at]) : field === before[at]))
      )
    })
  )
}

function move(from: Place, to: Place | undefined): void {
  if (to === undefined) return
  const { objects, fields, starts } = to.shape
  objects[to.at] = from.shape.objects[from.at] as object
  for (const [index, field] of fieldsAt(from).entries()) {
    fields[(starts[to.at] as number) + index] = field
  }
}

function fieldsAt({ shape: { fields, starts }, at }: Place): readonly unknown[] {
  return fields.slice(starts[at], starts[at + 1])
}

/** A number that JSON has no word for is not equal to itself. */
function isPlainLeaf(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'function' && typeof value !== 'symbol'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** A field that computes its value is not read: it may be another one each time. */
function plainField(
  holder: object,
  key: string | number,
): { readonly value?: unknown } | undefined {
  const field = Object.getOwnPropertyDescriptor(holder, key)
  return field !== undefined && 'value' in field ? field : undefined
}

/** Whether a test holds; proxies and getters may throw. */
function orFalse(test: () => boolean): boolean {
  try {
    return test()
  } catch {
    return false
  }
}

function keysOf(value: object): readonly string[] | 'not plain' {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null ? Object.keys(value) : 'not plain'
}
