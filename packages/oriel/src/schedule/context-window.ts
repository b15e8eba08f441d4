// The context window of a model by its name alone: the part of the catalogue that `project` needs, small enough for pages.

import { modelRules } from './cache-rules.ts'
import { withSplitDate } from './split-date.ts'
import { windowText } from './window-data.ts'

/** Tokens that a request and its answer may have together; undefined where nobody knows. The same as `lookupPrices` says of the model. */
export function contextWindowOf(model: string): number | undefined {
  blocks ??= windowText.split('\n\n').map(readBlock)
  const name = model.toLowerCase().trim()
  const block = blocks.find(({ pattern }) => pattern.test(name))
  if (block === undefined) return undefined
  const window = windowIn(block, name) ?? windowIn(block, withSplitDate(name))
  if (window === undefined) return undefined
  const rule = modelRules.find((one) => one.provider === block.provider && one.name.test(model))
  return window === 0 ? rule?.rules.contextWindow : window
}

interface Block {
  readonly provider: string
  readonly pattern: RegExp
  readonly rows: readonly { readonly window: number; readonly pattern: RegExp }[]
}

let blocks: readonly Block[] | undefined

function readBlock(text: string): Block {
  const [[provider, pattern], ...rows] = text.split('\n').map(readLine) as [Line, ...Line[]]
  return {
    provider,
    pattern,
    rows: rows.map(([window, own]) => ({ window: Number(window), pattern: own })),
  }
}

type Line = readonly [name: string, pattern: RegExp]

function readLine(line: string): Line {
  const space = line.indexOf(' ')
  return [line.slice(0, space), new RegExp(line.slice(space + 1))]
}

function windowIn({ rows }: Block, name: string): number | undefined {
  return rows.find(({ pattern }) => pattern.test(name))?.window
}
