// Asks the rules of a policy, in the order of their table. Each gives its verdict alone; the strongest form of a block wins.

import type { Edit, EditEntry, MessageEntry } from './core/log/entry.ts'
import { OrielError } from './core/log/errors.ts'
import { expansionsOf } from './core/state/expansion.ts'
import { noFile } from './core/state/file-request.ts'
import { tookEffect, waitsFrom } from './core/state/reasoning.ts'
import { readableResult } from './core/state/results.ts'
import type { State } from './core/state/state.ts'
import { noSummary } from './core/state/summary-request.ts'
import { placeholder } from './core/text/placeholder.ts'
import { countBlock } from './core/tokens/counter.ts'
import { finalIn } from './core/view/reduction.ts'
import { goneIn, reduce } from './core/view/render.ts'
import { isStronger, isSummaryStronger } from './core/view/strength.ts'
import type { Policy } from './policy/schema.ts'
import { type CustomRule, rulesWith } from './rules/custom.ts'
import type { Rule, RuleContext } from './rules/rule.ts'

/** What the rules know beside the state; without answers of a model they take their deterministic forms. */
export interface ProposeContext
  extends Omit<RuleContext, 'planned' | 'summaryOf' | 'fileOf'>,
    Partial<Pick<RuleContext, 'summaryOf' | 'fileOf'>> {
  /** Rules of the user's own. @default none */
  readonly rules?: readonly CustomRule[]
}

/** The edits that a policy proposes for this state: the strongest verdict for each block, where it goes further than what is in force. */
export function propose(state: State, policy: Policy, around: ProposeContext): readonly Edit[] {
  const edits: Edit[] = []
  const { summaryOf = noSummary, fileOf = noFile, rules = [], ...given } = around
  const context: RuleContext = { ...given, summaryOf, fileOf, planned: edits }
  const asked = rulesWith(rules).flatMap((rule) => {
    const settings = settingsOf(policy, rule) ?? (rule.isAlwaysAsked === true ? {} : undefined)
    return settings === undefined ? [] : [{ rule, settings }]
  })
  for (const { rule, settings } of asked) edits.push(...rule.propose(state, settings, context))
  for (const { rule, settings } of asked) {
    if (rule.isAskedAgain !== true || edits.at(-1)?.rule === rule.name) continue
    const others = edits.filter((edit) => edit.rule !== rule.name)
    edits.splice(0, edits.length, ...others)
    edits.push(...rule.propose(state, settings, context))
  }
  if (edits.length === 0) return edits
  const waits = waitsFrom(state)
  // A checkpoint is proposed inside a tool loop only where it cannot wait.
  const isReady = (edit: Edit): boolean =>
    waits === Infinity || (edit.since ?? Infinity) < waits || isCheckpoint(edit)
  const expansionOf = expansionsOf(state)
  // What was asked for again is protected while that lasts.
  const isFree = ({ target }: Edit): boolean =>
    !('seq' in target) || expansionOf(target.seq, target.block) === undefined
  const ready = edits.filter((edit) => isReady(edit) && isFree(edit))
  const isLost = finalIn(state, ready)
  const strongest = strongestPerBlock(unblocked(state, ready))
  const isGone = goneIn(strongest)
  return strongest
    .map((edit) => closed(edit, isLost))
    .flatMap((edit) => (isNews(state, edit, isGone) ? [edit] : sealed(state, edit)))
    .map((edit) => settled(state, edit))
}

/** Whether an edit puts a summary in the place of what it drops. */
export function isCheckpoint(edit: Edit): boolean {
  return !('seq' in edit.target) && edit.text !== undefined
}

function settingsOf(policy: Policy, { name }: Pick<Rule, 'name'>): object | undefined {
  // A checked policy has nothing but settings under the name of a rule.
  return (policy as Readonly<Record<string, object | undefined>>)[name]
}

/**
 * The edit that keeps the form in force and does not preserve the original: for one that would not, and that is weaker than what is in
 * force. Else whether an original can be read would depend on which rule came first.
 */
function sealed(state: State, edit: Edit): readonly Edit[] {
  const { target } = edit
  if (edit.isFinal !== true || !('seq' in target)) return []
  const live = state.blockEdit(target.seq, target.block)
  if (live === undefined || state.isFinal(target.seq, target.block)) return []
  const { form, keepsMedia, keeps, summary, tokensBefore } = live
  const text = live.text === undefined ? undefined : textWithoutHandle(state, live)
  const block = state.item(target.seq)?.entry.blocks[target.block]
  if (block === undefined) return []
  const shown = reduce(block, { form, ...(text === undefined ? {} : { text }) })
  return [
    {
      ...edit,
      form,
      ...(text === undefined ? {} : { text }),
      ...(keepsMedia === undefined ? {} : { keepsMedia }),
      ...(keeps === undefined ? {} : { keeps }),
      ...(summary === undefined || text !== live.text ? {} : { summary }),
      tokensBefore,
      tokensAfter: shown === undefined ? 0 : countBlock(state.counter, shown),
    },
  ]
}

/** The text of a form whose original can no longer be read: it quotes nothing but a summary, and offers nothing. */
function textWithoutHandle(state: State, { form, text = '', target }: EditEntry): string {
  if (!('seq' in target)) return text
  const { seq, block } = target
  const id = state.blockIdAt({ seq, block })
  if (form !== 'omitted') return text.replaceAll(`[expand ${id}]`, '[the original was not kept]')
  const entry = state.item(seq)?.entry
  const content = entry?.blocks[block]
  if (!text.includes(`expand ${id}`) || content?.type !== 'tool-result') return text
  const result = readableResult(state, entry as MessageEntry, { content, block })
  const tool = state.exchanges.answeredBy({ seq, block })?.call.name
  return placeholder({ ...result, ...(tool === undefined ? {} : { tool }), id, canExpand: false })
}

/** What one rule did not preserve stays closed, whichever form wins. */
function closed(edit: Edit, isLost: (seq: number, block: number) => boolean): Edit {
  const { target } = edit
  return 'seq' in target && isLost(target.seq, target.block) ? { ...edit, isFinal: true } : edit
}

/** The edit with the moment at which it took effect, which may be later than the one at which it fell due. */
function settled(state: State, edit: Edit): Edit {
  if (edit.since === undefined) return edit
  const since = tookEffect(state, edit.since)
  if (since === edit.since) return edit
  const { since: _due, ...rest } = edit
  return since === Infinity ? rest : { ...rest, since }
}

/** Refuses parts that cannot work together: better than a rule that silently does nothing. */
export function assertTogether(policy: Policy): void {
  if (policy.memory === undefined || policy.compaction !== undefined) return
  const message = "The policy asks for 'memory', which lives in the checkpoint. Add compaction: {}."
  throw new OrielError('invalid-policy', message, { path: 'policy.memory' })
}

/** Without summaries of a text that a shorter cut stood for before: whatever else is proposed, that cut is in their way. */
function unblocked(state: State, edits: readonly Edit[]): readonly Edit[] {
  const isSummary = ({ form, target }: Edit): boolean => form === 'summarized' && 'seq' in target
  if (!edits.some(isSummary)) return edits
  const cuts = new Map<string, Edit[]>()
  for (const edit of edits) {
    if (edit.form !== 'clipped' || !('seq' in edit.target)) continue
    const key = `${edit.target.seq}:${edit.target.block}`
    cuts.set(key, [...(cuts.get(key) ?? []), edit])
  }
  return edits.filter((edit) => {
    const { target } = edit
    if (!isSummary(edit) || !('seq' in target)) return true
    const live = state.blockEdits(target.seq, target.block).filter(({ form }) => form === 'clipped')
    const before = [...live, ...(cuts.get(`${target.seq}:${target.block}`) ?? [])]
    return before.every((cut) => isSummaryStronger(edit, cut))
  })
}

function strongestPerBlock(edits: readonly Edit[]): readonly Edit[] {
  const winners = new Map<string, Edit>()
  const drops: Edit[] = []
  for (const edit of edits) {
    if (!('seq' in edit.target)) {
      drops.push(edit)
      continue
    }
    const key = `${edit.target.seq}:${edit.target.block}`
    const other = winners.get(key)
    if (other === undefined || isStronger(edit, other)) winners.set(key, edit)
  }
  return [...drops, ...winners.values()]
}

/** Whether an edit goes further than the one in force. */
function isNews(state: State, edit: Edit, isGone: ReturnType<typeof goneIn>): boolean {
  if (!('seq' in edit.target)) return true
  // A reference gives way to the next one when its source leaves in the same pass.
  const live = state.blockEdit(edit.target.seq, edit.target.block, isGone)
  // A placeholder is not replaced by another one: both say that it is gone.
  if (live?.form === 'omitted' && edit.form === 'omitted') return false
  return live === undefined || isStronger(edit, live)
}
