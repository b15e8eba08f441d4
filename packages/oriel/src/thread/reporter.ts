// Tells the host what happened: events for its listener, lines for people.

import type { EditEntry, MessageEntry } from '../core/log/entry.ts'
import type { Item } from '../core/state/state.ts'
import { directivesOf } from '../core/text/checkpoint.ts'
import { mayDirect } from '../core/text/directive-list.ts'
import type { Policy } from '../policy/schema.ts'
import { leadingOf } from './branches/leading.ts'
import {
  type EventMessage,
  type EventType,
  eventOf,
  type FieldsOf,
  type Listener,
  notify,
  type ThreadEvent,
} from './events.ts'
import type { Journal } from './journal/journal.ts'
import { eventMessage, happeningsOf, pruningLine, type ViewIndexOf } from './lifecycle.ts'

export interface ReporterOptions {
  readonly on?: Listener | undefined
  readonly log?: ((line: string) => void) | undefined
  readonly verbose: boolean
  /** Whose settings hold, for lines about them. @default the thread */
  readonly agent?: string | undefined
}

export class Reporter {
  readonly #options: ReporterOptions

  constructor(options: ReporterOptions) {
    this.#options = options
  }

  emit<Type extends EventType>({ state, key }: Journal, type: Type, fields: FieldsOf<Type>): void {
    const { turn: userTurn, step } = state
    if (type === 'job-failed' || type === 'plugin-failed') {
      const { message, reason, error } = fields
      this.#write(
        `[Oriel] ${[message, reason ?? error].filter((part) => part !== undefined).join(' ')}`,
      )
    }
    this.#tell(eventOf(type, { thread: key.thread, userTurn, step }, fields))
  }

  #tell(event: ThreadEvent): void {
    notify(this.#options.on, event, (line) => this.#write(line))
  }

  /** A line for people who asked for them. */
  say(line: string): void {
    if (this.#options.verbose) this.#write(line)
  }

  /** Document 002's line: what the window is for the view that comes. */
  asked(journal: Journal, { history }: Policy, agentName: string | undefined): void {
    if (history === undefined || !this.#options.verbose) return
    const { policy = 'lastN', length = 20 } = history
    const name = agentName ?? this.#options.agent ?? journal.key.thread
    const settings = `{policy: "${policy}", length: ${length}, messageCount: ${countIn(journal)}}`
    this.#write(`[History] Agent ${name} history settings: ${settings}`)
  }

  /** A log that fails stops nothing. */
  #write(line: string): void {
    try {
      this.#options.log?.(line)
    } catch {
      // Nobody is left to tell.
    }
  }

  /** Messages that were appended. */
  added(journal: Journal, entries: readonly MessageEntry[]): void {
    if (this.#options.on === undefined) return
    const { thread } = journal.key
    const { state } = journal
    for (const { id, seq, role, origin, turn: userTurn, step } of entries) {
      const index = state.item(seq)?.index ?? 0
      const message = `A ${role} message was added.`
      const about = (): EventMessage => eventMessage(state, { seq })
      const fields = { id, index, message, reason: `from ${origin}`, about }
      this.#tell(eventOf('message-added', { thread, userTurn, step }, fields))
    }
    this.#directed(journal, entries)
  }

  /** Standing instructions that these messages state, or say yes to in the answer before them. */
  #directed(journal: Journal, entries: readonly MessageEntry[]): void {
    const directing = entries.filter(mayDirect)
    if (directing.length === 0) return
    const { state } = journal
    const sources = new Map<string, Item>()
    for (const { seq } of directing) {
      const own = state.visible.findLastIndex(({ entry }) => entry.seq === seq)
      const before = state.visible[own - 1]
      for (const item of [
        before?.entry.role === 'assistant' ? before : undefined,
        state.visible[own],
      ]) {
        if (item !== undefined) sources.set(item.entry.id, item)
      }
    }
    for (const { source, supersedes } of directivesOf(state)) {
      const item = sources.get(source)
      if (item === undefined) continue
      const { index } = item
      const message = 'A standing instruction was stated: every checkpoint carries it.'
      this.emit(journal, 'directive-added', { id: source, index, message })
      if (supersedes === undefined) continue
      const replaced = 'A standing instruction was replaced by a newer one.'
      const fields = { id: supersedes, message: replaced, reason: `by ${source}` }
      this.emit(journal, 'directive-superseded', fields)
    }
  }

  /** Document 002's and 004's lines: what was selected of the whole conversation, and what it costs. */
  selected(
    journal: Journal,
    { history, toolResults }: Policy,
    {
      shown,
      tokens,
      repairs,
    }: { readonly shown: number; readonly tokens: number; readonly repairs: number },
  ): void {
    if (!this.#options.verbose) return
    const { state } = journal
    const messageCount = countIn(journal)
    if (history !== undefined) {
      if (shown < messageCount) {
        this.#write(`[History] Trimmed messages from ${messageCount} to ${shown}`)
      }
      this.#write(`[History] Tokens: ${state.totalTokens} in the conversation, ${tokens} sent`)
    }
    if (toolResults === undefined) return
    const repaired = repairs === 0 ? 'no repair needed' : `${repairs} repairs`
    this.#write(`[History] History selection: ${messageCount} → ${shown} messages (${repaired})`)
  }

  /** Edits that a view applied together. */
  applied(journal: Journal, edits: readonly EditEntry[], indexOf: ViewIndexOf): void {
    const [first] = edits
    if (first === undefined) return
    const { state } = journal
    for (const { type, ...fields } of happeningsOf(state, edits, indexOf)) {
      this.emit(journal, type, fields)
    }
    const sum = (of: 'tokensBefore' | 'tokensAfter'): number =>
      edits.reduce((total, edit) => total + edit[of], 0)
    const message = `${edits.length} edits were applied.`
    const { epoch: id, reason } = first
    const tokens = { before: sum('tokensBefore'), after: sum('tokensAfter') }
    this.emit(journal, 'epoch-applied', { id, message, reason, tokens })
    const line = pruningLine(state, edits)
    if (line !== undefined) this.say(line)
  }
}

/** Messages of the conversation as it is sent: those of the log, and the system messages that a client resends before them. */
function countIn(journal: Journal): number {
  return journal.state.messageCount + leadingOf(journal).length
}
