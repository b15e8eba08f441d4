// What plugins are, and how they are asked: one after the other, each with its own copy, and none can fail the turn.

import type { Block } from '../../core/log/block.ts'
import type { Draft } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { cloneJson, isObject } from '../../core/log/json.ts'
import { assertNoSlip, assertOptions, type OptionNames } from '../../core/log/options.ts'
import { decodeNeutral } from '../../providers/neutral/index.ts'

/** A neutral message whose content is blocks. */
export type BlockMessage = Draft & { readonly content: readonly Block[] }

/** One thing that a plugin adds to a message. */
export interface Contribution {
  /** Whether the model sees it in the request that is made now. */
  readonly displayOnCurrentMessage: boolean
  /** Whether it stays in the history: for ever, for a number (what it counts is the policy's `retention.unit`), or not (false, 0). */
  readonly saveToChatHistory: boolean | number
  /** Text, images and files; a string is one text block. */
  readonly content: string | readonly Block[]
}

export interface PluginContext {
  /** The thread's id; absent where `enrich` is called without a thread. */
  readonly thread?: string
  readonly turn: number
  readonly step: number
  /** Aborted when the plugin's time is over or it threw; never after it answered. */
  readonly signal: AbortSignal
}

/** Context that comes with messages. A plugin that throws, hangs or answers nonsense adds nothing; the turn continues without it. */
export interface Plugin {
  /** Unique among a thread's plugins. */
  readonly name: string
  /** What the model reads in the header. @default the name */
  readonly label?: string
  /** What the plugin is for: one text for the system prompt. @default none */
  readonly description?: string
  /** Names of the tools that the plugin provides, listed in the system prompt. @default none */
  readonly tools?: readonly string[]
  /**
   * Asked for each user message, and once for the tool results of a step, failed ones included, when the last of them comes in: before it
   * is logged.
   */
  message?(
    message: BlockMessage,
    context: PluginContext,
  ):
    | readonly Contribution[]
    | null
    | undefined
    | Promise<readonly Contribution[] | null | undefined>
  /** Asked before a view, when the log has grown since the last one. Keep it stable: it stands in front of everything that is cached. */
  system?(
    context: PluginContext,
  ):
    | string
    | readonly Block[]
    | null
    | undefined
    | Promise<string | readonly Block[] | null | undefined>
  /** How long one answer may take. @default 5000 */
  readonly timeoutMs?: number
}

/** A contribution that was checked. */
export interface Addition {
  readonly isDisplayed: boolean
  /** True: for ever. False: not kept. */
  readonly saved: boolean | number
  readonly content: readonly Block[]
}

/** What one plugin adds to one message. */
export interface Added {
  readonly plugin: Plugin
  readonly additions: readonly Addition[]
}

export interface AskOptions {
  readonly context: Omit<PluginContext, 'signal'>
  /** Told when a plugin failed. */
  readonly onFailure: (plugin: string, reason: string) => void
}

/** Long enough to read a page or take a screenshot, short enough for a person who waits. */
const defaultTimeoutMs = 5000
/** What a message can carry beside the user's own words. */
const allowedTypes: ReadonlySet<string> = new Set(['text', 'image', 'file'])

/** Refuses plugins that cannot be distinguished or cannot be called. */
export function checkPlugins(plugins: unknown): asserts plugins is readonly Plugin[] {
  if (!Array.isArray(plugins)) throw wrong('plugins', 'must be an array')
  const names = new Set<string>()
  plugins.forEach((plugin: unknown, index) => {
    const path = `plugins[${index}]`
    if (!isObject(plugin)) throw wrong(path, 'must be an object')
    assertPluginFields(plugin, path)
    const { name, message, system, timeoutMs } = plugin
    if (typeof name !== 'string' || name.trim() === '')
      throw wrong(`${path}.name`, 'must be a text')
    if (names.has(name)) throw wrong(`${path}.name`, 'is used by another plugin')
    names.add(name)
    for (const [key, hook] of Object.entries({ message, system })) {
      const isHook = hook === undefined || typeof hook === 'function'
      if (!isHook) throw wrong(`${path}.${key}`, 'must be a function')
    }
    const isTime = typeof timeoutMs === 'number' && timeoutMs > 0 && timeoutMs <= 2 ** 31 - 1
    if (timeoutMs !== undefined && !isTime) {
      throw wrong(`${path}.timeoutMs`, 'must be a number of milliseconds above 0')
    }
  })
}

const pluginFields: OptionNames<Plugin> = {
  name: true,
  label: true,
  description: true,
  tools: true,
  message: true,
  system: true,
  timeoutMs: true,
}
const contributionFields: OptionNames<Contribution> = {
  displayOnCurrentMessage: true,
  saveToChatHistory: true,
  content: true,
}

/** An instance of a class may have state of its own; what a literal has beside these does nothing. */
function assertPluginFields(plugin: object, path: string): void {
  const isLiteral = Object.getPrototypeOf(plugin) === Object.prototype
  const around = { of: 'A plugin', at: path }
  const names = { known: Object.keys(pluginFields), elsewhere: Object.keys(contributionFields) }
  if (isLiteral) assertOptions<object>(plugin, pluginFields, around.of, path)
  else assertNoSlip(plugin, names, around)
}

/** What the plugins add to a message, in their order. Never rejects. */
export async function askForMessage(
  message: Draft,
  plugins: readonly Plugin[],
  options: AskOptions,
): Promise<readonly Added[]> {
  const added: Added[] = []
  for (const plugin of plugins) {
    if (plugin.message === undefined) continue
    const additions = await ask(plugin, options, async (context) => {
      // A copy: what a plugin does to it changes nothing.
      const own = cloneJson({ ...message, content: contentOf(message) }, 'message')
      // Nothing, however it is written (null, false, ''), is nothing to add.
      return additionsOf((await plugin.message?.(own as unknown as BlockMessage, context)) || [])
    })
    if (additions !== undefined && additions.length > 0) added.push({ plugin, additions })
  }
  return added
}

/** What one plugin says in the system prompt; undefined when it failed. */
export function askForSystem(
  plugin: Plugin,
  options: AskOptions,
): Promise<readonly Block[] | undefined> {
  return ask(plugin, options, async (context) =>
    blocksOf((await plugin.system?.(context)) || [], 'system'),
  )
}

/** The blocks of a message as input: a string is one text block. */
export function contentOf({ content }: Draft): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content
}

async function ask<T>(
  plugin: Plugin,
  { context, onFailure }: AskOptions,
  call: (context: PluginContext) => Promise<T>,
): Promise<T | undefined> {
  const control = new AbortController()
  const { timeoutMs = defaultTimeoutMs } = plugin
  let timer: NodeJS.Timeout | undefined
  try {
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Late(`took longer than ${timeoutMs} ms`)), timeoutMs)
    })
    return await Promise.race([call({ ...context, signal: control.signal }), late])
  } catch (error) {
    control.abort()
    onFailure(plugin.name, reasonOf(error))
    return undefined
  } finally {
    clearTimeout(timer)
  }
}

class Late extends Error {}

/** Never what a plugin put into its error: that may be content. */
function reasonOf(error: unknown): string {
  if (error instanceof Late || OrielError.is(error)) return error.message
  return `threw ${error instanceof Error ? error.name : 'a value that is no error'}`
}

function additionsOf(answer: unknown): readonly Addition[] {
  if (!Array.isArray(answer)) throw answered('contributions', 'must be an array')
  const additions = answer.map((one: unknown, index): Addition => {
    const path = `contributions[${index}]`
    if (!isObject(one)) throw answered(path, 'must be an object')
    const unknown = Object.keys(one).find((name) => !Object.hasOwn(contributionFields, name))
    if (unknown !== undefined) {
      const known = Object.keys(contributionFields).join(', ')
      throw answered(`${path}.${unknown.slice(0, 40)}`, `is not one of ${known}`)
    }
    const { displayOnCurrentMessage = false, saveToChatHistory = false, content = [] } = one
    if (typeof displayOnCurrentMessage !== 'boolean') {
      throw answered(`${path}.displayOnCurrentMessage`, 'must be true or false')
    }
    return {
      isDisplayed: displayOnCurrentMessage,
      saved: savedOf(saveToChatHistory, `${path}.saveToChatHistory`),
      content: blocksOf(content, `${path}.content`),
    }
  })
  // A header above nothing would only cost tokens.
  return additions.filter(({ content }) => content.some(isFilled))
}

function isFilled(block: Block): boolean {
  return block.type !== 'text' || block.text !== ''
}

function savedOf(value: unknown, path: string): boolean | number {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value || false
  throw answered(path, 'must be true, false or a whole number, 0 or more')
}

function blocksOf(content: unknown, path: string): readonly Block[] {
  const asBlocks = Array.isArray(content) ? content.map(withMediaType) : content
  const [decoded] = decodeNeutral([{ role: 'user', content: asBlocks }], path)
  const read = decoded?.draft.content ?? []
  if (typeof read === 'string') return [{ type: 'text', text: read }]
  return read.map((block) => {
    if (!allowedTypes.has(block.type)) throw answered(path, 'may hold text, images and files only')
    const { id: _id, lifetime: _lifetime, audience: _audience, plugin: _plugin, ...own } = block
    // Only fields that Oriel sets itself were taken off.
    return own as Block
  })
}

/** Document 000 says `mimeType`. */
function withMediaType(block: unknown): unknown {
  if (!isObject(block) || !('mimeType' in block)) return block
  const { mimeType, ...rest } = block
  return { mediaType: mimeType, ...rest }
}

function answered(path: string, problem: string): OrielError {
  return new OrielError('invalid-input', `answered wrongly: ${path} ${problem}`, { path })
}

function wrong(path: string, problem: string): OrielError {
  return new OrielError('invalid-option', `${path} ${problem}.`, { path })
}
