// Judges how many stated rules are in the last view of a generated conversation, word for word, after many checkpoints.

import type { Counter } from '../core/tokens/counter.ts'
import type { PolicyInput } from '../policy/schema.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { openThread } from '../thread/thread.ts'
import type { GeneratedChat, StatedRule } from './stated-rules.ts'

export interface RulesJudgement {
  /** Checkpoints that were made. */
  readonly folds: number
  /** Rules that hold at the end, and those of them that the last view has word for word. */
  readonly rules: readonly { readonly rule: StatedRule; readonly isKept: boolean }[]
  /** Rules that were replaced and are still listed. */
  readonly stale: number
  /** Quoted sentences that are listed as if the user had asked for them. */
  readonly decoys: number
  /** All that is listed as a directive. */
  readonly listed: number
  readonly viewTokens: number
  /** Tokens of the list in the checkpoint. */
  readonly listTokens: number
}

export interface JudgeRulesOptions {
  readonly policy: PolicyInput
  readonly counter: Counter
  /** Checkpoints that are asked for, spread evenly; those that the policy makes come on top. @default 10 */
  readonly folds?: number
}

/** Feeds a conversation turn by turn, as an agent would, and judges the view after the last one. */
export async function judgeRules(
  { turns, rules, decoys }: GeneratedChat,
  { policy, counter, folds = 10 }: JudgeRulesOptions,
): Promise<RulesJudgement> {
  const thread = await openThread({ store: memoryStore(), policy, tokens: counter, now: () => 0 })
  let made = 0
  for (const [index, messages] of turns.entries()) {
    await thread.append(messages)
    await thread.view()
    const isDue = Math.floor(((index + 1) * folds) / turns.length) > made
    if (!isDue) continue
    made += 1
    await thread.compact()
  }
  const { messages, directives, tokens } = await thread.view<{ content?: unknown }>()
  const text = messages.map(({ content }) => asText(content)).join('\n\n')
  const listed = new Set(directives.map((one) => one.text))
  const log = await thread.log()
  const list = /Standing instructions of the user[\s\S]*?(?=\n\n)/.exec(text)?.[0] ?? ''
  return {
    folds: log.filter(({ type }) => type === 'edit').length,
    rules: rules
      .filter(({ replacedBy }) => replacedBy === undefined)
      .map((rule) => ({ rule, isKept: text.includes(rule.text) && listed.has(rule.text) })),
    stale: rules.filter((rule) => rule.replacedBy !== undefined && listed.has(rule.text)).length,
    decoys: decoys.filter((decoy) => listed.has(decoy)).length,
    listed: listed.size,
    viewTokens: tokens.after,
    listTokens: counter.count(list),
  }
}

function asText(content: unknown): string {
  return typeof content === 'string' ? content : JSON.stringify(content ?? '')
}
