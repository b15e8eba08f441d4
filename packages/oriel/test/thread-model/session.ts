// Two Thread objects on one store, and what a test must remember about them.

import type { Entry } from '../../src/core/log/entry.ts'
import { OrielError } from '../../src/core/log/errors.ts'
import { canonicalJson, type Json } from '../../src/core/log/json.ts'
import type { PolicyInput } from '../../src/policy/schema.ts'
import type { Store } from '../../src/stores/store.ts'
import { Journal } from '../../src/thread/journal/journal.ts'
import type { AnyThreadOptions } from '../../src/thread/options.ts'
import type { Summarize } from '../../src/thread/summaries/answer.ts'
import { type Thread, threadOver } from '../../src/thread/thread.ts'
import type { View, ViewOptions } from '../../src/thread/view/view.ts'
import { wildRules } from '../wild-rule.ts'
import { FaultyStore } from './faulty-store.ts'
import { type Folded, foldLog } from './naive.ts'
import type { Who } from './operations.ts'
import { Speech } from './talk.ts'

export interface Scenario {
  /** The policy the thread begins with. */
  readonly policy?: PolicyInput | undefined
  /** Entries between two snapshots; 0 for none. @default 0 */
  readonly snapshotEvery?: number
  /** Whether every listener throws. @default false */
  readonly isListenerBad?: boolean
  /** The model that summarizes. @default none */
  readonly summarize?: Summarize | undefined
}

/** A Thread and the journal that it was opened with. */
export interface Actor {
  readonly thread: Thread
  readonly journal?: Journal
}

export class Session {
  readonly faulty: FaultyStore
  readonly tenant: string
  readonly scenario: Scenario
  readonly speech = new Speech()
  #idCount = 0
  /** The clock that all Threads read; it may go backwards. */
  clock = 1000
  /** Every branch that was made, the first thread included. */
  readonly branches = new Set<string>(['t'])
  /** Names of the background tasks that failed, as events report them. */
  readonly failedTasks: string[] = []
  #actors: [Actor, Actor] | undefined

  private constructor(store: Store, tenant: string, scenario: Scenario) {
    this.faulty = new FaultyStore(store)
    this.tenant = tenant
    this.scenario = scenario
  }

  /** Opens the thread `t` of a tenant twice. */
  static async open(store: Store, tenant: string, scenario: Scenario): Promise<Session> {
    const session = new Session(store, tenant, scenario)
    session.#actors = [await session.openActor('t'), await session.openActor('t')]
    if (scenario.policy !== undefined) await session.thread(0).setPolicy(scenario.policy)
    return session
  }

  actor(who: Who): Actor {
    if (this.#actors === undefined) throw new Error('The session is not open.')
    return this.#actors[who]
  }

  thread(who: Who): Thread {
    return this.actor(who).thread
  }

  replace(who: Who, actor: Actor): void {
    if (this.#actors === undefined) throw new Error('The session is not open.')
    this.#actors[who] = actor
  }

  /** Opens a branch as another process would, with the policy that its log has. */
  async openActor(id: string): Promise<Actor> {
    const { store } = this.faulty
    const key = { tenant: this.tenant, thread: id }
    const now = (): number => this.clock
    const { isListenerBad = false, snapshotEvery = 0, summarize } = this.scenario
    // What the others keep for a quick start is complete: a run can be repeated.
    for (const actor of this.#actors ?? []) await actor.thread.settled()
    const options: AnyThreadOptions = {
      id,
      tenant: this.tenant,
      store,
      now,
      snapshotEvery,
      rules: wildRules,
      on: ({ type, id }) => {
        if (type === 'job-failed' && id !== undefined) this.failedTasks.push(id)
        if (isListenerBad) throw new Error('A listener broke.')
      },
      ...(summarize === undefined ? {} : { summarize }),
    }
    const journal = await Journal.open({ store, key, tokens: undefined, now, snapshotEvery })
    return { thread: threadOver(options, journal), journal }
  }

  /** An id that no message has yet. */
  nextId(): string {
    this.#idCount += 1
    return `id-${this.#idCount}`
  }

  /** The log of a branch, read from the store. */
  async log(id: string): Promise<readonly Entry[]> {
    const entries: Entry[] = []
    for await (const entry of this.faulty.store.read({ tenant: this.tenant, thread: id })) {
      entries.push(entry)
    }
    return entries
  }

  async folded(who: Who): Promise<Folded> {
    return foldLog(await this.log(this.thread(who).id))
  }
}

/** Everything that a caller can see of a view, as text. */
export function bytesOf(view: View, { snapshotEvery = 0 }: Scenario): string {
  const { id, messages, system, tokens, epoch } = view
  // What was dropped before a snapshot has one line of the trace for all; what repairs do is told in full.
  const trace = view.trace.filter(({ rule }) => snapshotEvery === 0 || rule === 'repair')
  return JSON.stringify({ id, messages, system, trace, tokens, epoch })
}

/** A view that commits nothing. */
export async function dryView(thread: Thread, options: ViewOptions = {}): Promise<View> {
  try {
    return await thread.view({ ...options, dryRun: true })
  } catch (error) {
    // Nothing is left to send, which a view refuses.
    if (!OrielError.is(error, 'cannot-project') || options.budget !== undefined) throw error
    const epoch = { id: '', applied: 0, cause: 'none' } as const
    return {
      id: '',
      messages: [],
      trace: [],
      directives: [],
      offersExpansion: false,
      tokens: { before: 0, after: 0 },
      epoch,
    }
  }
}

/** Entries as text, one line each. */
export function linesOf(log: readonly Entry[]): readonly string[] {
  return log.map((entry) => canonicalJson(entry as unknown as Json))
}
