// Which tool results stay full (document 004), and which become summaries beyond a cutoff (document 003): always in place.

import { type Block, textOf } from '../core/log/block.ts'
import type { Edit } from '../core/log/entry.ts'
import { choice, count, object, optional } from '../core/schema/schema.ts'
import { type Result, resultsOf } from '../core/state/results.ts'
import { settledBy } from '../core/state/settled.ts'
import type { State } from '../core/state/state.ts'
import {
  around,
  noSummary,
  type SummaryOf,
  type SummaryRequest,
} from '../core/state/summary-request.ts'
import { head, headAndTail } from '../core/text/clip.ts'
import { placeholder } from '../core/text/placeholder.ts'
import { readableIn } from '../core/text/readable.ts'
import { countBlock } from '../core/tokens/counter.ts'
import { finalIn, reduceResult } from '../core/view/reduction.ts'
import { reduce, strongest } from '../core/view/render.ts'
import type { Defaults, Rule } from './rule.ts'

export interface ToolResultsSettings {
  /** Which results stay full. @default 'keepRecent' */
  readonly strategy?:
    | 'keepAll'
    | 'keepRecent'
    | 'keepSuccessful'
    | 'keepOne'
    | 'dropAll'
    | undefined
  /** How many stay full; 0 = unlimited; `keepOne` ignores it. @default 0 */
  readonly max?: number | undefined
  /** `informative` says what is gone and how to get it back; `plain` is literally [Omitted], of pictures [Image omitted]. @default 'informative' */
  readonly placeholder?: 'informative' | 'plain' | undefined
  /** Only this many of the newest messages with pictures keep them. @default no limit */
  readonly maxImages?: number | undefined
  /** Bytes of pictures in a request, as they are on the wire: the oldest ones beyond become references. @default no limit */
  readonly maxImageBytes?: number | undefined
  /** Beyond this many results the oldest become summaries; 0 = off. @default 10 */
  readonly cutoff?: number | undefined
  /** How they are summarized; `llm` without a model acts as `heuristic`. @default 'llm' */
  readonly summary?: 'llm' | 'heuristic' | 'off' | undefined
}

/** Whether a tool's result is a success; anything else than false is one. */
export type Success = (result: { readonly text: string; readonly tool: string }) => boolean

const plainText = '[Omitted]'
/** Characters of an output that its summary quotes: two thirds from the start, one third from the end. */
const excerptLength = 800

const defaults = {
  strategy: 'keepRecent',
  max: 0,
  placeholder: 'informative',
  maxImages: { words: 'no limit' },
  maxImageBytes: { words: 'no limit' },
  cutoff: 10,
  summary: 'llm',
} as const satisfies Defaults

export const toolResults = {
  name: 'toolResults',
  schema: object({
    strategy: optional(choice('keepAll', 'keepRecent', 'keepSuccessful', 'keepOne', 'dropAll')),
    max: optional(count),
    placeholder: optional(choice('informative', 'plain')),
    maxImages: optional(count),
    maxImageBytes: optional(count),
    cutoff: optional(count),
    summary: optional(choice('llm', 'heuristic', 'off')),
  }),
  defaults,
  propose(state, settings, { summaryOf, planned, success }) {
    const { cutoff = defaults.cutoff, summary = defaults.summary } = settings
    const settled = settledBy(state, 'toolResults', settings)
    const results = resultsOf(state, planned, settled.upTo(state))
    const isPlain = settings.placeholder === 'plain'
    const isLost = finalIn(state, planned)
    const canExpand = ({ item, block }: Result): boolean => !isLost(item.entry.seq, block)
    const isFailed = (result: Result): boolean => hasFailed(result, success)
    // A placeholder of another rule may be longer: what is proposed beside it counts for the rules that weigh.
    const isInForce = ({ item, block }: Result, text: string): boolean => {
      const live = state.blockEdit(item.entry.seq, block)
      return live?.form === 'omitted' && live.text === text
    }
    const hasCutoff = cutoff > 0 && summary !== 'off'
    const mayStay = (result: Result): boolean => !hasCutoff || isReduced(state, result)
    const done = new Set<Result>()
    const edits = outside(results, settings, isFailed).flatMap(({ result, since, reason }) => {
      if (result.isProtected) return []
      const text = isPlain ? plainText : informative(state, result, canExpand(result))
      const change = { rule: 'toolResults', form: 'omitted', text, since, reason } as const
      const own = reduceResult(state, result, change, { mayGrow: isPlain })
      const isDone = own.length === 0 ? mayStay(result) : isInForce(result, text)
      if (isDone) done.add(result)
      return own
    })
    // Where no strategy omits anything, what has its summary is done.
    const { strategy = defaults.strategy, max = defaults.max } = settings
    const keepsAll = strategy === 'keepAll' || (strategy === 'keepRecent' && max === 0)
    const isBeyond = (result: Result): boolean => keepsAll && !result.isProtected && mayStay(result)
    // A message is done when all of its results are.
    const old = new Set(results.slice(0, Math.max(0, results.length - cutoff)))
    settled.pass(results, (result) => old.has(result) && (done.has(result) || isBeyond(result)))
    if (hasCutoff) {
      const ask = summary === 'llm' ? summaryOf : noSummary
      // What the strategy omits needs no summary.
      const omitted = new Set(
        edits.flatMap(({ target }) => ('seq' in target ? [placeOf(target)] : [])),
      )
      const isFree = ({ item, block }: Result): boolean =>
        !omitted.has(placeOf({ seq: item.entry.seq, block }))
      edits.push(...beyondCutoff(state, results, { cutoff, isFree, canExpand, summaryOf: ask }))
    }
    edits.push(...withoutImages(state, settings, isPlain))
    return edits
  },
} satisfies Rule<ToolResultsSettings>

/** A model is asked about this share of the cutoff at once: one call and one broken cache for several results. */
const batchShare = 1 / 3

/** The oldest results beyond the cutoff, summarized in place. */
function beyondCutoff(
  state: State,
  results: readonly Result[],
  {
    cutoff,
    isFree,
    canExpand,
    summaryOf,
  }: {
    readonly cutoff: number
    readonly isFree: (result: Result) => boolean
    readonly canExpand: (result: Result) => boolean
    readonly summaryOf: SummaryOf
  },
): readonly Edit[] {
  const reason = `beyond the newest ${cutoff} results`
  const isDue = (result: Result): boolean =>
    !result.isProtected && isFree(result) && !isReduced(state, result)
  const oldest = results.slice(0, Math.max(0, results.length - cutoff))
  const hasModel = summaryOf !== noSummary
  if (hasModel && oldest.filter(isDue).length < Math.ceil(cutoff * batchShare)) return []
  return oldest.flatMap((result, index) => {
    if (!isDue(result)) return []
    const id = state.blockIdAt({ seq: result.item.entry.seq, block: result.block })
    const since = later(results[index + cutoff], result)
    const how = canExpand(result) ? `\n[expand ${id}]` : '\n[the original was not kept]'
    const change = { rule: 'toolResults', form: 'summarized', reason } as const
    const answer = summaryOf(summaryRequestFor(result))
    if (answer.state === 'waiting') return []
    if (answer.state === 'ready') {
      const status = result.content.isError === true ? 'error' : 'ok'
      const before = `[Tool output summary]\nTool: ${result.tool}\nStatus: ${status}\n`
      const summarized = around(answer, { before, after: how })
      // A model's summary takes effect when it is there: what was thought before it saw the whole.
      const edits = reduceResult(state, result, { ...change, ...summarized })
      if (edits.length > 0) return edits
    }
    // A short output is cut to its half: what is beyond the cutoff shrinks, whatever its length.
    const half = Math.floor(textOf(result.content.content).length / 2)
    for (const length of [excerptLength, Math.min(excerptLength, half)]) {
      const text = `${heuristicSummary(result, length)}${how}`
      const edits = reduceResult(state, result, { ...change, text, since })
      if (edits.length > 0) return edits
    }
    return []
  })
}

function placeOf({ seq, block }: { readonly seq: number; readonly block: number }): string {
  return `${seq}:${block}`
}

/** Shorter than what is written around a summary: there is nothing to gain. */
const worthSummarizing = 100

/** Whether a summary or a placeholder replaces it already (a text that was shown once never changes), or a person forbade one. */
function isReduced(state: State, { item, block, content }: Result): boolean {
  const { seq } = item.entry
  const form = state.blockEdit(seq, block)?.form ?? 'full'
  if (strongest(form, 'summarized') === form || state.isVetoed(seq, block, 'summarized'))
    return true
  return textOf(content.content).length < worthSummarizing
}

/** What a model is asked for one result (document 003). */
const summaryPrompt = [
  'Summarize the output of a tool for an assistant that goes on with the work. Facts only: no instructions, no advice.',
  'Key facts: two to five short points. Important artifacts: exact paths, names, ids, numbers, error messages.',
].join('\n')
/** The most characters of a model's summary. */
const summaryLength = 1200

function summaryRequestFor({ content, tool }: Result): SummaryRequest {
  return {
    kind: 'tool-result',
    source: content,
    text: textOf(content.content),
    about: `Tool: ${head(tool, 60)}; status: ${content.isError === true ? 'error' : 'ok'}`,
    prompt: summaryPrompt,
    targetChars: summaryLength,
    maxChars: summaryLength,
  }
}

interface Outside {
  readonly result: Result
  readonly since: number
  readonly reason: string
}

/** The results that the strategy does not keep full. */
function outside(
  results: readonly Result[],
  settings: ToolResultsSettings,
  isFailed: (result: Result) => boolean,
): readonly Outside[] {
  const { strategy = defaults.strategy, max = defaults.max } = settings
  switch (strategy) {
    case 'keepAll':
      return []
    case 'dropAll':
      return results.map((result) => ({
        result,
        since: seen(result),
        reason: 'all results are omitted',
      }))
    case 'keepOne':
      return beyond(results, 1)
    case 'keepRecent':
      return max === 0 ? [] : beyond(results, max)
    case 'keepSuccessful': {
      const failed = results.filter(isFailed)
      const successful = results.filter((result) => !isFailed(result))
      return [
        ...failed.map((result) => ({
          result,
          since: seen(result),
          reason: 'only successful results stay',
        })),
        ...(max === 0 ? [] : beyond(successful, max)),
      ]
    }
  }
}

/** Longer outputs are not parsed: a failure that is told in a field is short. */
const parsedLength = 20_000

/**
 * Whether a result is a failure: by its error flag; else by the host's word; else by a field of its own, where the output is a JSON object
 * (`"success": false`, or MCP's `"isError": true`). Words in a text say nothing.
 */
function hasFailed({ content, tool }: Result, success: Success | undefined): boolean {
  if (content.isError === true) return true
  const text = textOf(content.content)
  if (success !== undefined) return success({ text, tool }) === false
  if (text.length > parsedLength || !text.trimStart().startsWith('{')) return false
  try {
    const { success: isSuccess, isError } = JSON.parse(text) as Readonly<Record<string, unknown>>
    return isSuccess === false || isError === true
  } catch {
    return false
  }
}

function beyond(results: readonly Result[], max: number): readonly Outside[] {
  return results.slice(0, Math.max(0, results.length - max)).map((result, index) => ({
    result,
    since: later(results[index + max], result),
    reason: `older than the newest ${max === 1 ? 'result' : `${max} results`}`,
  }))
}

/** When a result fell behind `pusher` and the model had seen it. */
function later(pusher: Result | undefined, result: Result): number {
  return Math.max(pusher?.item.entry.seq ?? 0, seen(result))
}

function seen(result: Result): number {
  return result.seenAt ?? Infinity
}

function informative(state: State, result: Result, canExpand: boolean): string {
  const { item, block, content, tool } = result
  const id = state.blockIdAt({ seq: item.entry.seq, block })
  return state.derive(`omitted:${id}:${canExpand}`, () => ({
    text: placeholder({ ...content, tool, id, canExpand }),
  })).text
}

/** The summary that needs no model (document 003): status, and head and tail of the output. */
function heuristicSummary(
  { content, tool }: Pick<Result, 'content' | 'tool'>,
  length: number,
): string {
  const text = textOf(content.content).trim()
  const excerpt = headAndTail(text, length)
  const status = content.isError === true ? 'error' : 'ok'
  return `Tool "${tool}" finished with status ${status}. Output excerpt:\n${excerpt === '' ? '(empty output)' : excerpt}`
}

/** Pictures of the oldest messages that have some. The newest user message and what the model has not seen stay. */
function withoutImages(
  state: State,
  settings: ToolResultsSettings,
  isPlain: boolean,
): readonly Edit[] {
  const { maxImages, maxImageBytes } = settings
  if (maxImages === undefined && maxImageBytes === undefined) return []
  const unseen = new Set(
    resultsOf(state).flatMap(({ item, isProtected }) => (isProtected ? [item] : [])),
  )
  const readable = readableIn(state)
  const holders = state.visible.filter(({ entry }) =>
    readable(entry).some(({ block }) => hasImage(block)),
  )
  const bytes = holders.map(({ entry }) =>
    readable(entry).reduce((sum, { block }) => sum + pictureBytes(block), 0),
  )
  return holders.flatMap((item, index) => {
    const limit = limitOf(bytes, index, settings)
    if (limit === undefined) return []
    const { entry, tokens } = item
    if (entry.seq === state.newestUser || state.isPinned(entry.seq) || unseen.has(item)) return []
    return readable(entry).flatMap(({ block, position }): Edit[] => {
      // No text of ours stands in an assistant's message.
      const isLeaving = entry.role === 'assistant' && block.type === 'image'
      const form = isLeaving ? 'dropped' : 'clipped'
      if (!hasImage(block) || state.isVetoed(entry.seq, position, form)) return []
      const text = isLeaving ? {} : { text: textWithoutImages(block, isPlain) }
      const shown = reduce(block, { form, ...text })
      return [
        {
          rule: 'toolResults',
          form,
          target: { seq: entry.seq, block: position },
          ...text,
          reason: limit.reason,
          tokensBefore: tokens[position] as number,
          tokensAfter: shown === undefined ? 0 : countBlock(state.counter, shown),
          since: holders[limit.index]?.entry.seq ?? state.version,
        },
      ]
    })
  })
}

/** Why the pictures of one message leave, and the message with which they did; undefined where they stay. */
function limitOf(
  bytes: readonly number[],
  index: number,
  { maxImages = Infinity, maxImageBytes = Infinity }: ToolResultsSettings,
): { readonly index: number; readonly reason: string } | undefined {
  let sum = 0
  for (let at = index; at < bytes.length; at++) {
    sum += bytes[at] as number
    if (at - index >= maxImages) {
      return { index: at, reason: `only the newest ${maxImages} messages keep their pictures` }
    }
    if (sum > maxImageBytes) {
      return { index: at, reason: `pictures have more than ${maxImageBytes} bytes from here on` }
    }
  }
  return undefined
}

/** Bytes of the pictures in a block, as they are sent. */
function pictureBytes(block: Block): number {
  if (block.type === 'image') return (block.data ?? block.url ?? '').length
  if (block.type !== 'tool-result' || typeof block.content === 'string') return 0
  return block.content.reduce((sum, inner) => sum + pictureBytes(inner), 0)
}

function hasImage(block: Block): boolean {
  if (block.type === 'image') return true
  return (
    block.type === 'tool-result' &&
    typeof block.content !== 'string' &&
    block.content.some((inner) => inner.type === 'image')
  )
}

function textWithoutImages(block: Block, isPlain: boolean): string {
  const how = isPlain || block.id === undefined ? '' : `; expand ${block.id}`
  const note = `[Image omitted${how}]`
  if (block.type !== 'tool-result') return note
  const text = textOf(block.content)
  return text === '' ? note : `${text}\n${note}`
}
