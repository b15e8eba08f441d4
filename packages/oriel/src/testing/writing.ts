// Helpers shared by the script writers of all formats.

import type { Shape } from './script.ts'

/** Image or file data; its content does not matter. */
export const data = 'iVBORw0KGgoAAAANSUhEUg=='

/** The variant for a shape; shapes beyond the list are the plainest. */
export function pick<T>(shape: Shape, ways: readonly [T, ...T[]]): T {
  return ways[shape] ?? ways[0]
}

/** Signatures of thoughts. No two answers of a model have the same one, even where they say the same. */
export function createSignatures(): () => string {
  return createIds(0, ['sig+iVBORw0KGgo'])
}

/** Ids that never repeat within one conversation. */
export function createIds(style: number, prefixes: readonly string[]): () => string {
  let count = 0
  return () => {
    count += 1
    return `${prefixes[style % prefixes.length]}${count}`
  }
}
