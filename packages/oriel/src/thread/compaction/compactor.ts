// Checkpoints as jobs: planned from the state, summarized beside it, committed only if the conversation still allows it.

import { setTimeout as delay } from 'node:timers/promises'
import type { Edit, EditEntry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { firstOf, isInRanges, seqsOf } from '../../core/state/edits.ts'
import { shownAgainIn } from '../../core/state/expansion.ts'
import type { State } from '../../core/state/state.ts'
import { requestTokens } from '../../core/state/weight.ts'
import { withdrawnFrom } from '../../core/text/checkpoint.ts'
import type { Policy } from '../../policy/schema.ts'
import {
  type CompactionPlan,
  type CompactionSettings,
  checkpoint,
  isLimitReached,
  limitOf,
  mustWait,
  planCheckpoint,
} from '../../rules/compaction.ts'
import type { RuleContext } from '../../rules/rule.ts'
import { type Deferred, deferred } from '../deferred.ts'
import type { EventType, FieldsOf } from '../events.ts'
import type { Journal, Stamp } from '../journal/journal.ts'
import type { Summarize } from '../summaries/answer.ts'
import { failureOf, type Jobs } from '../summaries/jobs.ts'
import { type CheckpointJob, summarizeCheckpoint } from './checkpoint-job.ts'

/** Checkpoints in a row after which the request is still above the limit: then it stops until the user speaks. */
const maxWithoutProgress = 3

export interface CompactorOptions {
  readonly jobs: Jobs
  readonly summarize: Summarize | undefined
  readonly window: number
  readonly emit: <Type extends EventType>(type: Type, fields: FieldsOf<Type>) => void
}

/** What starts a checkpoint. */
export type Trigger = 'turn-end' | 'step' | 'manual' | 'recovery'

export type CompactionSurroundings = Pick<
  RuleContext,
  'frameTokens' | 'measured' | 'planned' | 'window' | 'memory' | 'contextWindow'
> & {
  /** The conversation's next request with an instruction behind it. @default not known */
  readonly aligned?: CheckpointJob['aligned']
}

/** What a checkpoint says that could not wait for its summary. */
const noTime = 'there was no room left to go on until a summary came'
const tooLate = 'the summary took too long'

/** A checkpoint under way. Never rejects: without a summary it has its digest. */
interface Pending {
  readonly trigger: Trigger
  readonly before: { readonly messages: number; readonly tokens: number }
  /** The log's length when it was planned. */
  readonly version: number
  /** The checkpoint that it continues from. */
  readonly base: string | undefined
  readonly around: CompactionSurroundings
  readonly settings: CompactionSettings
  readonly limit: number
  /** The checkpoint without a summary. */
  readonly digest: Edit
  readonly answer: Promise<SummaryAnswer>
  /** Tells everybody who waits what was committed. */
  readonly done: Deferred<EditEntry | undefined>
}

interface SummaryAnswer {
  readonly edit: Edit
  readonly error?: string
}

/** Of one branch, one checkpoint at a time; nothing is locked while a model is asked. */
export class Compactor {
  readonly #journal: Journal
  readonly #options: CompactorOptions
  #pending: Pending | undefined
  #saidHopeless = ''

  constructor(journal: Journal, options: CompactorOptions) {
    this.#journal = journal
    this.#options = options
  }

  get hasSummarizer(): boolean {
    return this.#options.summarize !== undefined
  }

  /** The same for a copy of the branch: no model is asked, nobody is told, nothing is kept. */
  rehearsal(copy: Journal): Compactor {
    return new Compactor(copy, { ...this.#options, summarize: undefined, emit: () => {} })
  }

  /**
   * Starts a checkpoint where the policy's limit is reached; true when one is under way. Where there is no time for it, no model is
   * asked.
   */
  startIfDue(
    policy: Policy,
    {
      trigger,
      around,
      hasTime = () => true,
    }: Pick<Pending, 'trigger' | 'around'> & { readonly hasTime?: () => boolean },
  ): boolean {
    if (this.#pending !== undefined) return true
    const plan = this.#plan(policy, around)
    if (plan?.state === 'hopeless') this.#sayHopeless(plan)
    if (plan?.state !== 'due') return false
    const settings = policy.compaction ?? {}
    const limit = limitOf(settings, around.contextWindow)
    const { edit, tokens } = plan
    this.#start(edit, { trigger, around, settings, limit, tokens, hasTime: hasTime() })
    return true
  }

  /** Whether the policy's limit is reached, so that a checkpoint may be due: to know it, one must be written. */
  mayBeDue({ compaction }: Policy, around: CompactionSurroundings): boolean {
    const { state } = this.#journal
    return this.#mayPlan(compaction, around) && isLimitReached(state, compaction, around)
  }

  #plan({ compaction }: Policy, around: CompactionSurroundings): CompactionPlan | undefined {
    const { state } = this.#journal
    return this.#mayPlan(compaction, around) ? planCheckpoint(state, compaction, around) : undefined
  }

  #mayPlan(
    compaction: CompactionSettings | undefined,
    around: CompactionSurroundings,
  ): compaction is CompactionSettings {
    const { state } = this.#journal
    if (compaction === undefined || isStopped(state)) return false
    return !mustWait(state, compaction, around)
  }

  /** Starts a checkpoint that was asked for, whatever the limit says; false when nothing can give way. */
  start(
    policy: Policy,
    request: {
      readonly trigger: 'manual' | 'recovery'
      readonly instructions?: string | undefined
      readonly limit?: number | undefined
      readonly around: CompactionSurroundings
    },
  ): boolean {
    const { state } = this.#journal
    const { trigger, instructions, around } = request
    const settings = policy.compaction ?? {}
    const limit = request.limit ?? limitOf(settings, around.contextWindow)
    const reason =
      trigger === 'manual' ? 'asked for' : 'the provider refused the request as too long'
    const { planned, window, memory } = around
    const isUrgent = trigger === 'recovery'
    const options = { limit: limit || Infinity, reason, planned, window, memory, isUrgent }
    const waits = !isUrgent && mustWait(state, settings, around)
    const [edit] = waits ? [] : checkpoint(state, settings, options)
    const tokens = requestTokens(state, around.planned, around)
    if (edit === undefined && trigger === 'recovery') return false
    if (edit === undefined) {
      const messages = shownCount(state)
      const counts = { trigger, messages: { before: messages, after: messages } }
      const fields = { ...counts, tokens: { before: tokens, after: tokens } }
      this.#options.emit('compaction-started', {
        message: 'A checkpoint was asked for.',
        ...fields,
      })
      const message = 'Nothing could give way.'
      this.#options.emit('compaction-ended', { message, tokensSaved: 0, ...fields })
      return false
    }
    this.#start(edit, { trigger, around, settings, limit, tokens, instructions })
    return true
  }

  /** Commits what is under way, by `run`, once the model has answered. Answers what was committed, by whomever. */
  async finishBehind(
    run: (task: () => Promise<EditEntry | undefined>) => Promise<EditEntry | undefined>,
  ): Promise<EditEntry | undefined> {
    const pending = this.#pending
    if (pending === undefined) return undefined
    await Promise.race([pending.answer, pending.done.promise])
    return run(() => this.#commit(pending, pending.answer))
  }

  /**
   * Commits what is under way. Undefined when there is nothing, or when the conversation changed so that it no longer fits. Where the
   * model has not answered at the time `until`, the digest stands alone, and a later answer is dropped.
   */
  async finish(until = Infinity): Promise<EditEntry | undefined> {
    const pending = this.#pending
    if (pending === undefined) return undefined
    if (until === Infinity) return this.#commit(pending, pending.answer)
    const control = new AbortController()
    const digest = { edit: pending.digest, error: tooLate }
    const late = delay(Math.max(0, until - performance.now()), digest, control)
    // Aborted below when nobody waits for it any more.
    late.catch(() => undefined)
    try {
      return await this.#commit(pending, Promise.race([pending.answer, late]))
    } finally {
      control.abort()
    }
  }

  /** The same without waiting: where the model has not answered yet, the digest stands alone, and a later answer is dropped. */
  async finishNow(): Promise<EditEntry | undefined> {
    const pending = this.#pending
    if (pending === undefined) return undefined
    // Of two that are there, the first is taken.
    const now = Promise.race([pending.answer, { edit: pending.digest, error: noTime }])
    return this.#commit(pending, now)
  }

  async #commit(pending: Pending, answer: Promise<SummaryAnswer>): Promise<EditEntry | undefined> {
    if (this.#pending !== pending) return pending.done.promise
    const { edit, error } = await answer
    if (this.#pending !== pending) return pending.done.promise
    this.#pending = undefined
    try {
      const build = (state: State, stamp: Stamp): readonly EditEntry[] => {
        const { trigger, settings, around } = pending
        const waits = trigger !== 'recovery' && mustWait(state, settings, around)
        if (waits || !isApplicable(state, edit, pending)) return []
        const epoch = `k${(state.version + 1).toString(36)}`
        const made = isTight(state, edit, pending) ? { ...edit, isTight: true } : edit
        const lost = lostWith(state, edit, pending.around.planned)
        return [...lost, made].map(
          (one) => stamp.entry({ ...one, type: 'edit', epoch }) as EditEntry,
        )
      }
      const entry = (await this.#journal.commit(build)).at(-1)
      const changed = entry === undefined ? 'the conversation changed meanwhile' : undefined
      this.#end(pending, entry, error ?? changed)
      return entry
    } catch (failure) {
      this.#end(pending, undefined, OrielError.is(failure) ? failure.code : 'unknown')
      throw failure
    }
  }

  #start(
    edit: Edit,
    {
      trigger,
      around,
      settings,
      limit,
      tokens,
      instructions,
      hasTime = true,
    }: Pick<Pending, 'trigger' | 'around' | 'settings' | 'limit'> & {
      readonly tokens: number
      readonly instructions?: string | undefined
      readonly hasTime?: boolean
    },
  ): void {
    const { state } = this.#journal
    if (this.#pending !== undefined) this.#end(this.#pending, undefined, 'another one came first')
    const before = { messages: shownCount(state), tokens }
    const message = trigger === 'manual' ? 'A checkpoint was asked for.' : 'The limit was reached.'
    const { reason } = edit
    this.#options.emit('compaction-started', {
      message,
      reason,
      trigger,
      messages: { before: before.messages },
      tokens: { before: before.tokens },
    })
    const needsModel =
      trigger !== 'recovery' &&
      this.#options.summarize !== undefined &&
      (trigger === 'manual' || isNews(edit, around.window?.high ?? limit))
    const answer =
      needsModel && hasTime
        ? this.#summarize(state, edit, {
            instructions,
            planned: around.planned,
            aligned: around.aligned,
            limit: around.window?.low ?? (limit || Infinity),
          })
        : Promise.resolve(needsModel ? { edit, error: noTime } : { edit })
    const { version } = state
    const base = state.checkpoint?.id
    const done = deferred<EditEntry | undefined>()
    const asked = { trigger, around, settings, limit }
    this.#pending = { ...asked, before, version, base, digest: edit, answer, done }
  }

  async #summarize(
    state: State,
    edit: Edit,
    asked: Pick<CheckpointJob, 'instructions' | 'planned' | 'aligned' | 'limit'>,
  ): Promise<SummaryAnswer> {
    const { summarize, jobs, window } = this.#options
    if (summarize === undefined) return { edit }
    const isWanted = (): boolean => this.#pending?.digest === edit
    try {
      const job = { state, edit, ...asked, summarize, jobs, window, isWanted }
      return { edit: await summarizeCheckpoint(job) }
    } catch (error) {
      const failure = failureOf(error)
      this.#options.emit('job-failed', {
        message: 'No summary: the digest stands alone.',
        ...failure,
      })
      return { edit, error: failure.reason }
    }
  }

  #end(pending: Pending, entry: EditEntry | undefined, error: string | undefined): void {
    const { trigger, before, around } = pending
    const { state } = this.#journal
    pending.done.resolve(entry)
    const saved = entry === undefined ? 0 : entry.tokensBefore - entry.tokensAfter
    // What was measured before no longer holds.
    const measured = { factor: around.measured?.factor ?? 1 }
    const tokens = requestTokens(state, [], { frameTokens: around.frameTokens, measured })
    if (entry?.isTight === true && isStopped(state)) this.#sayStopped()
    this.#options.emit('compaction-ended', {
      message: entry === undefined ? 'No checkpoint was made.' : 'A checkpoint was made.',
      ...(entry === undefined ? {} : { id: entry.id }),
      trigger,
      tokensSaved: saved,
      messages: { before: before.messages, after: shownCount(state) },
      tokens: { before: before.tokens, after: entry === undefined ? before.tokens : tokens },
      ...(error === undefined ? {} : { error }),
    })
  }

  #sayStopped(): void {
    const message = `${maxWithoutProgress} checkpoints in a row made too little room: none is made until the next user message.`
    this.#options.emit('compaction-skipped', { message, reason: 'no progress' })
  }

  /** Said once for a frame and a limit, not at every step. */
  #sayHopeless({
    fixedTokens,
    limit,
  }: {
    readonly fixedTokens: number
    readonly limit: number
  }): void {
    const said = `${fixedTokens}:${limit}`
    if (this.#saidHopeless === said) return
    this.#saidHopeless = said
    this.#options.emit('compaction-skipped', {
      message: `What no checkpoint can shrink (system text, tools, pinned messages) has ${fixedTokens} tokens, the limit is ${limit}: none is made. Raise the limit or shorten it.`,
      reason: 'the frame is above the limit',
    })
  }
}

/** A model that has written notes writes again once this share of the limit was folded since. */
const newsShare = 1 / 3

/** Whether enough was folded since a model wrote its notes, which are kept until then. */
function isNews({ digest }: Edit, limit: number): boolean {
  const { unheard } = digest ?? {}
  return typeof unheard !== 'number' || unheard >= limit * newsShare
}

/** Edits that were planned beside a checkpoint and did not preserve what it covers: once that left the view, no rule looks at it again. */
function lostWith(state: State, checkpoint: Edit, planned: readonly Edit[]): readonly Edit[] {
  return planned.filter(({ isFinal, target }) => {
    if (isFinal !== true || !('seq' in target) || !isInRanges(checkpoint, target.seq)) return false
    return !state.isFinal(target.seq, target.block)
  })
}

/** Whether a checkpoint that the limit asked for leaves the request at the limit all the same. */
function isTight(state: State, edit: Edit, { trigger, around, limit }: Pending): boolean {
  if (limit === 0 || trigger === 'manual' || trigger === 'recovery') return false
  // What was measured before no longer holds.
  const measured = { factor: around.measured?.factor ?? 1 }
  return requestTokens(state, [edit], { frameTokens: around.frameTokens, measured }) >= limit
}

/** Whether the newest checkpoints since the user spoke made too little room. Read off the log: every object decides the same. */
function isStopped({ dropEdits, newestUser = 0 }: State): boolean {
  const newest = dropEdits.filter(({ text }) => text !== undefined).slice(-maxWithoutProgress)
  const isInRow = newest.every((edit) => edit.isTight === true && edit.seq > newestUser)
  return isInRow && newest.length === maxWithoutProgress
}

/** Messages that a view shows: the visible ones, and the checkpoint's own. */
export function shownCount({ visible, checkpoint }: State): number {
  return visible.length + (checkpoint === undefined ? 0 : 1)
}

/**
 * Whether everything that a checkpoint covers is still there to be covered and was neither answered late nor asked for again, and it
 * still follows the same one.
 */
function isApplicable(
  state: State,
  edit: Edit,
  { base, version, trigger, around }: Pick<Pending, 'base' | 'version' | 'trigger' | 'around'>,
): boolean {
  if (state.checkpoint?.id !== base) return false
  // What a summary was made from must still be for models.
  if (withdrawnFrom(state, { ...edit, seq: version + 1 }).size > 0) return false
  const known = new Set(around.planned.filter(({ isFinal }) => isFinal).map(firstOf))
  const isLost = ({ seq, ...final }: EditEntry): boolean =>
    seq > version && !known.has(firstOf(final)) && isInRanges(edit, firstOf(final))
  if (state.finalEdits.some(isLost)) return false
  const visible = new Set(state.visible.map(({ entry }) => entry.seq))
  const isShownAgain = trigger === 'recovery' ? () => false : shownAgainIn(state)
  for (const seq of seqsOf(edit)) {
    const isMessage = state.facts(seq) !== undefined
    if (!isMessage) continue
    if (!visible.has(seq) || seq === state.newestUser || state.isPinned(seq)) return false
    if (state.isVetoed(seq, '*', 'dropped')) return false
    const entry = state.item(seq)?.entry
    if (entry !== undefined && isShownAgain(entry)) return false
    if (state.exchanges.membersOf(seq).some((member) => member > version)) return false
  }
  return true
}
