// A thread's plugins: asked for what comes in, and for the system prompt.

import type { Block } from '../../core/log/block.ts'
import type { Draft, Entry } from '../../core/log/entry.ts'
import { equalJson } from '../../core/log/json.ts'
import { settings } from '../../core/log/settings.ts'
import type { Policy } from '../../policy/schema.ts'
import type { Journal, Stamp } from '../journal/journal.ts'
import { loggedBlocks } from './enrich.ts'
import {
  type AskOptions,
  askForMessage,
  askForSystem,
  checkPlugins,
  contentOf,
  type Plugin,
} from './plugin.ts'

/** Stands before the plugins in the system prompt. */
const preface = 'Plugins add context and tools to this conversation:'
const toolsTitle = '\nThe plugin provides and manages the following tools/functions:\n'

export class Plugins {
  readonly #plugins: readonly Plugin[]
  readonly #onFailure: AskOptions['onFailure']
  /** The log's length after the view for which they were last asked. */
  #askedAt: string | undefined

  constructor(plugins: readonly Plugin[], onFailure: AskOptions['onFailure']) {
    checkPlugins(plugins)
    this.#plugins = plugins
    this.#onFailure = onFailure
  }

  get isEmpty(): boolean {
    return this.#plugins.length === 0
  }

  /** For each draft what is logged in its place: itself with additions, or itself and a message that holds them. */
  async enrich(
    drafts: readonly Draft[],
    journal: Journal,
    { retention }: Policy,
  ): Promise<ReadonlyMap<Draft, readonly Draft[]>> {
    const enriched = new Map<Draft, readonly Draft[]>()
    if (!this.#plugins.some(({ message }) => message !== undefined)) return enriched
    for (const [draft, content] of askedIn(drafts, journal)) {
      const message = content === undefined ? draft : { ...draft, content }
      const added = await askForMessage(message, this.#plugins, this.#options(journal))
      const blocks = loggedBlocks(added, retention?.unit ?? 'newer')
      if (blocks.length > 0) enriched.set(draft, withBlocks(draft, blocks))
    }
    return enriched
  }

  /** What plugins say in the system prompt. At an unchanged log, what they said before. */
  async system(journal: Journal): Promise<readonly Block[]> {
    if (this.#plugins.length === 0) return []
    if (this.#askedAt === placeOf(journal)) return systemOf(journal)
    const parts: Block[] = []
    for (const plugin of this.#plugins) {
      const own = plugin.system && (await askForSystem(plugin, this.#options(journal)))
      parts.push(...systemBlocks(plugin, own ?? []))
    }
    return parts.length === 0 ? [] : [{ type: 'text', text: preface }, ...parts]
  }

  /** Told after a view was committed. */
  settle(journal: Journal): void {
    if (!this.isEmpty) this.#askedAt = placeOf(journal)
  }

  #options(journal: Journal): AskOptions {
    const { turn, step } = journal.state
    return { context: { thread: journal.key.thread, turn, step }, onFailure: this.#onFailure }
  }
}

/** What plugins said in the system prompt when it was last recorded. */
export function systemOf(journal: Pick<Journal, 'setting'>): readonly Block[] {
  return journal.setting(settings.pluginSystem) ?? []
}

/** The entry that records a change of what plugins say in the system prompt. */
export function systemSetting(
  journal: Pick<Journal, 'setting'>,
  system: readonly Block[],
  stamp: Stamp,
): readonly Entry[] {
  if (equalJson(systemOf(journal), system)) return []
  return [stamp.entry(settings.pluginSystem.body(system))]
}

/** Drafts with what stands in their place; results that came in one run stay together, what plugins add to them comes after. */
export function replaced(
  drafts: readonly Draft[],
  enriched: ReadonlyMap<Draft, readonly Draft[]>,
): readonly Draft[] {
  if (enriched.size === 0) return drafts
  const list: Draft[] = []
  let waiting: Draft[] = []
  for (const draft of drafts) {
    if (draft.role !== 'tool') list.push(...waiting.splice(0))
    const [own = draft, ...more] = enriched.get(draft) ?? []
    list.push(own)
    waiting = [...waiting, ...more]
  }
  return [...list, ...waiting]
}

/** Where the part of a history begins that the model has not answered. */
export function firstUnanswered(history: readonly Draft[]): number {
  return history.findLastIndex(({ role }) => role === 'assistant') + 1
}

/**
 * What plugins are asked for: users' own words, and the results of a step once the last of them is there, with their content together.
 * What the model has answered already is not asked for.
 */
function askedIn(
  drafts: readonly Draft[],
  journal: Journal,
): ReadonlyMap<Draft, readonly Block[] | undefined> {
  const asked = new Map<Draft, readonly Block[] | undefined>()
  const start = firstUnanswered(drafts)
  const waiting = openCalls(journal, drafts[start - 1])
  let results: Block[] = []
  for (const [index, draft] of drafts.entries()) {
    if (index < start) continue
    const { role, origin = 'user' } = draft
    if (role === 'user' && origin === 'user') asked.set(draft, undefined)
    if (role !== 'tool') continue
    const content = contentOf(draft)
    for (const block of content) if (block.type === 'tool-result') waiting.delete(block.callId)
    results = [...results, ...content]
    if (drafts[index + 1]?.role === 'tool') continue
    if (waiting.size === 0) asked.set(draft, results)
    results = []
  }
  return asked
}

/** Calls of the newest answer that have no result yet. */
function openCalls({ state }: Journal, answer: Draft | undefined): Set<string> {
  if (answer !== undefined) {
    return new Set(
      contentOf(answer).flatMap((one) => (one.type === 'tool-call' ? [one.callId] : [])),
    )
  }
  const exchange = state.exchanges.exchangeAt(state.newestAssistant ?? 0)
  return new Set(exchange?.calls.flatMap(({ callId, result }) => (result ? [] : [callId])))
}

/** A tool message holds results only, and a message whose original is kept must stay as it is: there the additions follow it. */
function withBlocks(draft: Draft, blocks: readonly Block[]): readonly Draft[] {
  if (draft.role === 'user' && draft.native === undefined) {
    return [{ ...draft, content: [...contentOf(draft), ...blocks] }]
  }
  const id = draft.id === undefined ? {} : { id: `${draft.id}/plugins` }
  return [draft, { ...id, role: 'user', origin: 'plugin', kind: 'plugin-context', content: blocks }]
}

function systemBlocks(plugin: Plugin, own: readonly Block[]): readonly Block[] {
  const { label, name, description = '', tools = [] } = plugin
  const isBlank = (block: Block): boolean => block.type === 'text' && block.text.trim() === ''
  const content = own.filter((block) => !isBlank(block))
  if (description.trim() === '' && content.length === 0 && tools.length === 0) return []
  const list = `${toolsTitle}${tools.map((tool) => `- ${tool}`).join('\n')}`
  return [
    { type: 'text', text: `\n\n### PLUGIN: ${label ?? name} ###\n\n${description}` },
    ...content,
    ...(tools.length === 0 ? [] : [{ type: 'text', text: list } as const]),
  ]
}

function placeOf({ key, state }: Journal): string {
  return `${key.thread}:${state.version}`
}
