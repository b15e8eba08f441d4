// Imprints: what plain data looked like, to see later whether somebody changed it in place.

/**
 * A growing list of values as they were. All objects in them stand in one array and all their fields in another, in the order in which
 * they are read, so that comparing is one loop through memory. Strings are shared: an imprint costs the structure, not the text.
 */
export class Imprint {
  readonly #values: unknown[] = []
  /** Where the objects and the fields of each value begin; undefined for a value that is frozen, which nobody can change. */
  readonly #starts: (Start | undefined)[] = []
  /** Every object and array of a value, itself first. */
  readonly #objects: object[] = []
  /** The keys of each object; undefined for an array. */
  readonly #keys: (readonly string[] | undefined)[] = []
  /** What was in their fields, one after the other; for an array its length first. */
  readonly #fields: unknown[] = []
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
    const start = { object: this.#objects.length, field: this.#fields.length }
    const isPlain = orFalse(() => this.#press(value))
    const isFrozen = isPlain && isAllFrozen(this.#objects, start.object)
    if (isPlain) this.#values.push(value)
    if (isPlain) this.#starts.push(isFrozen ? undefined : start)
    if (isPlain && !isFrozen) return true
    this.#objects.length = start.object
    this.#keys.length = start.object
    this.#fields.length = start.field
    return isPlain
  }

  /**
   * Whether a list begins with these values as they were, keys in the same order. About 30 ns for a message: a string that was not
   * replaced is one comparison of pointers, however long it is. Other objects that look alike are remembered instead of the first ones.
   */
  isBeginningOf(values: readonly unknown[]): boolean {
    return orFalse(() => {
      const own = this.#values
      if (values.length < own.length) return false
      for (let index = 0; index < own.length; index++) {
        const value = values[index]
        if (!Object.is(value, own[index]) && !this.#replace(index, value)) return false
      }
      return this.#isUnchanged()
    })
  }

  #press(value: unknown): boolean {
    if (!isObject(value)) return typeof value !== 'function' && typeof value !== 'symbol'
    const names = Array.isArray(value) ? undefined : keysOf(value)
    if (names === 'not plain') return false
    this.#objects.push(value)
    this.#keys.push(names)
    if (Array.isArray(value)) this.#fields.push(value.length)
    const fields = Array.isArray(value)
      ? Array.from({ length: value.length }, (_, index) => plainField(value, index))
      : (names ?? []).map((key) => plainField(value, key))
    for (const field of fields) {
      if (field === undefined) return false
      this.#fields.push(field.value)
    }
    return fields.every((field) => this.#press(field?.value))
  }

  #isUnchanged(): boolean {
    const objects = this.#objects
    const keys = this.#keys
    const fields = this.#fields
    let at = 0
    for (let index = 0; index < objects.length; index++) {
      const object = objects[index] as Readonly<Record<string, unknown>>
      const names = keys[index]
      if (names === undefined) {
        const array = object as unknown as readonly unknown[]
        if (array.length !== fields[at++]) return false
        for (let item = 0; item < array.length; item++) {
          if (!Object.is(array[item], fields[at++])) return false
        }
        continue
      }
      let count = 0
      for (const key in object) {
        if (key !== names[count++]) return false
        if (!Object.is(object[key], fields[at++])) return false
      }
      if (count !== names.length) return false
    }
    return true
  }

  /** Takes another object in the place of one that looked the same; false where it did not. */
  #replace(index: number, value: unknown): boolean {
    const start = this.#starts[index]
    const own = Imprint.#whole(value)
    const was = start === undefined ? Imprint.#whole(this.#values[index]) : this.#part(index, start)
    if (own === undefined || was === undefined || !isAlike(own, was)) return false
    if (start === undefined && !isAllFrozen(own.objects, 0)) return false
    this.#values[index] = value
    this.#replaced += 1
    if (start === undefined) return true
    for (const [at, object] of own.objects.entries()) this.#objects[start.object + at] = object
    for (const [at, field] of own.fields.entries()) this.#fields[start.field + at] = field
    return true
  }

  #part(index: number, { object, field }: Start): Pressed {
    const next = this.#starts.slice(index + 1).find((start) => start !== undefined)
    return {
      objects: this.#objects.slice(object, next?.object),
      keys: this.#keys.slice(object, next?.object),
      fields: this.#fields.slice(field, next?.field),
    }
  }

  /** Everything in an object; undefined for what is not plain data. */
  static #whole(value: unknown): Pressed | undefined {
    const own = new Imprint()
    if (!isObject(value) || !own.#press(value)) return undefined
    return { objects: own.#objects, keys: own.#keys, fields: own.#fields }
  }
}

interface Start {
  readonly object: number
  readonly field: number
}

interface Pressed {
  readonly objects: readonly object[]
  readonly keys: readonly (readonly string[] | undefined)[]
  readonly fields: readonly unknown[]
}

function isAlike(one: Pressed, other: Pressed): boolean {
  return (
    one.objects.length === other.objects.length &&
    one.fields.length === other.fields.length &&
    one.keys.every((names, at) => areEqual(names, other.keys[at])) &&
    one.fields.every((field, at) => {
      const was = other.fields[at]
      return isObject(field) ? isObject(was) : Object.is(field, was)
    })
  )
}

function isAllFrozen(objects: readonly object[], from: number): boolean {
  for (let index = from; index < objects.length; index++) {
    if (!Object.isFrozen(objects[index])) return false
  }
  return true
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
  return prototype === Object.prototype || prototype === null
    ? shared(Object.keys(value))
    : 'not plain'
}

/** Lists of keys that were seen last: messages have few shapes, and one list for all of a shape stays in the processor's cache. */
const recent: (readonly string[])[] = []
const mostRecent = 16

function shared(keys: readonly string[]): readonly string[] {
  const known = recent.find((other) => areEqual(other, keys))
  if (known !== undefined) return known
  recent.unshift(keys)
  recent.length = Math.min(recent.length, mostRecent)
  return keys
}

function areEqual(
  one: readonly string[] | undefined,
  other: readonly string[] | undefined,
): boolean {
  if (one === undefined || other === undefined) return one === other
  return one.length === other.length && one.every((key, index) => key === other[index])
}
