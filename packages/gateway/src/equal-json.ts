// Whether two JSON values say the same, whatever the order of their keys. Made for values that mostly do.

import type { Json, JsonObject } from 'oriel'

export function equalJson(a: Json | undefined, b: Json | undefined): boolean {
  if (a === b) return true
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false
  if (Array.isArray(a)) return Array.isArray(b) && equalLists(a, b)
  return !Array.isArray(b) && equalObjects(a as JsonObject, b as JsonObject)
}

function equalLists(a: readonly Json[], b: readonly Json[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) if (!equalJson(a[index], b[index])) return false
  return true
}

function equalObjects(a: JsonObject, b: JsonObject): boolean {
  let fields = 0
  for (const key of Object.keys(a)) {
    if (a[key] === undefined) continue
    if (!Object.hasOwn(b, key) || !equalJson(a[key], b[key])) return false
    fields += 1
  }
  for (const key of Object.keys(b)) if (b[key] !== undefined) fields -= 1
  return fields === 0
}
