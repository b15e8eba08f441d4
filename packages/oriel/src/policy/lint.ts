// Warnings for a policy that is valid and contradicts itself: limits that cannot both hold, settings without effect, limits that a schedule softens.

import { type Policy, type PolicyInput, parsePolicy } from './schema.ts'

export interface PolicyWarning {
  /** The field, for example `history.keepRecentMessages`. */
  readonly path: string
  readonly message: string
}

/** Limits that contradict each other and settings without effect: an empty list for a policy without contradictions. Throws 'invalid-policy' for one that is not valid. */
export function lintPolicy(policy: PolicyInput): readonly PolicyWarning[] {
  const parsed = parsePolicy(policy)
  return [historyLimits, toolOutputLimits, compactionLimits, softened].flatMap((lint) =>
    lint(parsed),
  )
}

function historyLimits({ history, toolResults }: Policy): readonly PolicyWarning[] {
  const { maxMessages = 0, keepRecentMessages = 0, policy = 'lastN', length } = history ?? {}
  const warnings: PolicyWarning[] = []
  const warn = (path: string, message: string): void => void warnings.push({ path, message })
  if (maxMessages > 0 && keepRecentMessages >= maxMessages) {
    const path = 'history.keepRecentMessages'
    warn(path, `${keepRecentMessages} should be less than maxMessages (${maxMessages}).`)
  }
  if (maxMessages > 0 && keepRecentMessages > maxMessages / 2) {
    const path = 'history.keepRecentMessages'
    warn(path, `${keepRecentMessages} is more than 50% of maxMessages (${maxMessages}).`)
  }
  const max = toolResults?.max ?? 0
  if (maxMessages > 0 && max > maxMessages) {
    warn('toolResults.max', `${max} is more than history.maxMessages (${maxMessages}).`)
  }
  if (length !== undefined && policy !== 'lastN') {
    warn('history.length', `It has no effect with the policy ${policy}.`)
  }
  return warnings
}

function toolOutputLimits({ toolOutput, toolResults }: Policy): readonly PolicyWarning[] {
  const { maxChars = 0, largeOutputThreshold: threshold = 0 } = toolOutput ?? {}
  const warnings: PolicyWarning[] = []
  if (threshold > 0 && maxChars > threshold) {
    const message = `${maxChars} has no effect: above largeOutputThreshold (${threshold}) only a notice is shown.`
    warnings.push({ path: 'toolOutput.maxChars', message })
  }
  const { strategy, max = 0 } = toolResults ?? {}
  if (strategy === 'keepOne' && max > 1) {
    warnings.push({ path: 'toolResults.max', message: 'It has no effect with keepOne.' })
  }
  return warnings
}

function compactionLimits({ compaction, schedule }: Policy): readonly PolicyWarning[] {
  const { contextWindow = 0, reserveTokens = 0, foldAbove = 0, eagerness } = compaction ?? {}
  const warnings: PolicyWarning[] = []
  if (contextWindow > 0 && reserveTokens >= contextWindow) {
    const message = `${reserveTokens} leaves nothing of contextWindow (${contextWindow}).`
    warnings.push({ path: 'compaction.reserveTokens', message })
  }
  if (foldAbove > 0 && schedule !== 'cache-aware') {
    const message = 'It has no effect without the schedule cache-aware: maxTokens is the limit.'
    warnings.push({ path: 'compaction.foldAbove', message })
  }
  if (eagerness !== undefined && schedule !== 'cache-aware') {
    const message = 'It has no effect without the schedule cache-aware.'
    warnings.push({ path: 'compaction.eagerness', message })
  }
  return warnings
}

/** Limits that are savings under this schedule: they wait until they pay. */
const soft = [
  'toolResults.max',
  'toolResults.cutoff',
  'toolResults.maxImages',
  'expiry.tools',
  'expiry.kinds',
] as const

function softened({ schedule, ...parts }: Policy): readonly PolicyWarning[] {
  if (schedule !== 'cache-aware') return []
  const message = "With the schedule 'cache-aware' it waits until it pays; 'immediate' enforces it."
  return soft.flatMap((path) => {
    const [part = '', field = ''] = path.split('.')
    const settings = (parts as Readonly<Record<string, Readonly<Record<string, unknown>>>>)[part]
    const value = settings?.[field]
    return value === undefined || value === 0 ? [] : [{ path, message }]
  })
}
