// Objects of one shape, compared together with what they were: an engine then finds their fields faster than in a mixed list.

type Named = Readonly<Record<string, unknown>>

/** Whether all objects have the keys of their shape, in its order, and in each field what was there. */
export type Compare = (
  objects: readonly Named[],
  was: readonly unknown[],
  keys: readonly string[],
) => boolean

/** For arrays: `was` has the length of each before its items. */
export const areSameArrays: Compare = (arrays, was) => {
  let at = 0
  for (const array of arrays as readonly unknown[] as readonly (readonly unknown[])[]) {
    if (array.length !== was[at++]) return false
    for (let item = 0; item < array.length; item++) {
      if (array[item] !== was[at++]) return false
    }
  }
  return true
}

export const areSameObjects: Compare = (objects, was, keys) => {
  let at = 0
  for (let index = 0; index < objects.length; index++) {
    const object = objects[index] as Named
    let count = 0
    for (const key in object) {
      if (key !== keys[count++] || object[key] !== was[at++]) return false
    }
    if (count !== keys.length) return false
  }
  return true
}
