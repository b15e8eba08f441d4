// Past requests, rebuilt from the log: what was sent at a step, and the first thing that changed since the one before.

import type { Entry, RequestEntry } from '../../core/log/entry.ts'
import { OrielError } from '../../core/log/errors.ts'
import { equalJson, isObject, type Json, type JsonObject } from '../../core/log/json.ts'
import { settings } from '../../core/log/settings.ts'
import type { State, TokenCounts } from '../../core/state/state.ts'
import { noSummary } from '../../core/state/summary-request.ts'
import type { Change } from '../../core/view/view.ts'
import { type Policy, parsePolicy, policySchema } from '../../policy/schema.ts'
import type { FormatName } from '../../providers/format.ts'
import { formatNamed } from '../../providers/registry.ts'
import type { CustomRule } from '../../rules/custom.ts'
import { leadingOf } from '../branches/leading.ts'
import { assumeSaved } from '../expand/output-files.ts'
import { Journal } from '../journal/journal.ts'
import { memoryIn } from '../memory/tail.ts'
import { systemOf } from '../plugins/plugins.ts'
import { askLog } from '../summaries/prepare.ts'
import { contentsOf, type ShownPart } from './contents.ts'
import { Framing } from './frame.ts'
import { type BuiltView, buildView, encoderVersion } from './view.ts'
import { wideningEntries } from './widen.ts'

export interface RequestChange {
  /** Position of the first message that differs from the request before. */
  readonly index: number
  readonly cause: 'edit' | 'frame' | 'policy' | 'budget' | 'model' | 'repair'
  /** The rule and reason of the first edit between the two, where edits are the cause. */
  readonly rule?: string
  readonly reason?: string
}

export interface RebuiltRequest {
  /** The request body: messages (or input), system, tools and parameters as far as they were recorded. */
  readonly body: JsonObject
  /** Whether the body is byte for byte what was sent, by its recorded hash. */
  readonly exact: boolean
  readonly request: RequestEntry
  /** What was not full then, and why. */
  readonly trace: readonly Change[]
  /** Absent when the request only extends the one before. */
  readonly change?: RequestChange
  /** Its parts, with their tokens. */
  readonly contents: () => readonly ShownPart[]
  /** The same one by one: those of a long request take a while. */
  readonly parts: () => Iterable<ShownPart>
  /** The request before it in the same format: its step, and its parts. */
  readonly before?: { readonly step: number } & Pick<RebuiltRequest, 'contents' | 'parts'>
}

/** Rebuilds the newest request of a step. Reads the log once. `rules` are the host's own, for requests with a policy of their own. */
export async function rebuildRequest(
  journal: Journal,
  step: number,
  rules: readonly CustomRule[],
): Promise<RebuiltRequest> {
  const entries: Entry[] = []
  for await (const entry of journal.store.read(journal.key)) entries.push(entry)
  const { state: _state, ...rebuilt } = await rebuildFrom(journal, step, { entries, rules })
  return rebuilt
}

/** A log in memory, and how to fold it. */
export interface PastLog {
  /** All entries, from the first one on. */
  readonly entries: readonly Entry[]
  /** The host's own rules. */
  readonly rules: readonly CustomRule[]
  /** Tokens of messages that were counted before. @default they are counted */
  readonly counts?: TokenCounts | undefined
  /** Awaited now and then, so that a long fold leaves the event loop free. @default nothing */
  readonly pause?: (() => Promise<void>) | undefined
}

/** The same from entries that are in memory, with the state of the log before the request. Folds each entry once. */
export async function rebuildFrom(
  journal: Journal,
  step: number,
  log: PastLog,
): Promise<RebuiltRequest & { readonly state: State }> {
  const { request, before } = requestsOf(log.entries, step)
  const past = Journal.emptyCopyOf(journal, log.counts)
  if (before === undefined) {
    await advance(past, request.seq - 1, log)
    const { messages: _messages, built, ...answer } = await rebuild(past, request, log)
    return { ...answer, trace: built.trace(), request }
  }
  await advance(past, before.seq - 1, log)
  // The same fold continues to the request, unless a policy of its own added something.
  const own = before.details?.policy === undefined ? past : Journal.copyOf(past)
  const previous = await rebuild(own, before, log)
  await log.pause?.()
  await advance(past, request.seq - 1, log)
  const { messages, built, ...answer } = await rebuild(past, request, log)
  const change = compare(previous.messages, messages)
  await log.pause?.()
  const rebuilt = {
    ...answer,
    trace: built.trace(),
    request,
    before: { step: before.step, contents: previous.contents, parts: previous.parts },
  }
  if (change === undefined) return rebuilt
  return { ...rebuilt, change: { index: change, ...causeOf(before, request, log.entries) } }
}

/** The newest request of a step, and the one before it in the same format. */
export function requestsOf(
  entries: readonly Entry[],
  step: number,
): { readonly request: RequestEntry; readonly before: RequestEntry | undefined } {
  const requests = entries.filter((entry) => entry.type === 'request')
  const index = requests.findLastIndex((one) => one.step === step)
  const request = requests[index]
  if (request === undefined) {
    const [first, last] = [requests[0]?.step, requests.at(-1)?.step]
    const known = first === undefined ? 'none was made yet' : `they go from ${first} to ${last}`
    throw new OrielError('not-found', `No request was made at step ${step}: ${known}.`)
  }
  const before = requests.slice(0, index).findLast(({ format }) => format === request.format)
  return { request, before }
}

/** Entries that are folded between two pauses: a few milliseconds. */
const foldedAtOnce = 512

async function advance(past: Journal, until: number, { entries, pause }: PastLog): Promise<void> {
  while (past.state.version < until) {
    const from = past.state.version
    const to = Math.min(until, from + foldedAtOnce)
    past.advance(entries.slice(from, to))
    if (to < until) await pause?.()
  }
}

/** What the log's edits say is already decided; how a body is marked follows the schedule. */
function withoutRules(logged: JsonObject = {}): Policy {
  const { schedule } = logged
  return parsePolicy(schedule === undefined ? {} : { schedule })
}

/** The policy of one request, without rules of the host's own that it no longer gives: what is rebuilt is then not exact. */
function knownParts(logged: Json, rules: readonly CustomRule[]): Policy {
  if (!isObject(logged)) return parsePolicy(logged)
  const names = new Set([...Object.keys(policySchema.fields), ...rules.map(({ name }) => name)])
  const known = Object.entries(logged).filter(([name]) => names.has(name))
  return parsePolicy(Object.fromEntries(known), 'policy', rules)
}

/** `past` is the log before the request. */
async function rebuild(
  past: Journal,
  request: RequestEntry,
  { rules }: Pick<PastLog, 'rules'>,
): Promise<{
  body: JsonObject
  exact: boolean
  messages: readonly Json[]
  contents: () => readonly ShownPart[]
  parts: () => Iterable<ShownPart>
  built: BuiltView
  state: State
}> {
  const details = request.details ?? {}
  const temporary = details.policy
  const policy =
    temporary === undefined
      ? withoutRules(past.setting(settings.policy))
      : knownParts(temporary, rules)
  if (temporary !== undefined) await past.commit(wideningEntries(policy))
  const frame = past.setting(settings.frame.at(request.frameHash))
  const format = request.format as FormatName
  const framing = {
    frame,
    leading: leadingOf(past),
    pluginSystem: systemOf(past),
  }
  const around = new Framing(framing)
  const built = buildView({
    state: past.state,
    policy,
    isTemporary: temporary !== undefined,
    isDecided: temporary === undefined,
    options: {
      format,
      ...(frame === undefined ? {} : { frame }),
      ...(request.model === undefined ? {} : { model: request.model }),
      ...(details.budget === undefined ? {} : { budget: details.budget }),
      ...(details.mayTurnReasoningOff === true ? { mayTurnReasoningOff: true } : {}),
    },
    leading: framing.leading,
    pluginSystem: framing.pluginSystem,
    tail: await memoryIn(past),
    framing: around,
    given: { rules },
    now: request.at,
    summaryOf: temporary === undefined || details.hasModel === true ? askLog(past) : noSummary,
    fileOf: assumeSaved,
  })
  const exact = built.bodyHash === request.bodyHash && request.encoderVersion === encoderVersion
  const { messages } = built
  const body = bodyOf(format, request, built, frame)
  const parts = (): Iterable<ShownPart> => contentsOf({ state: past.state, framing: around }, built)
  const contents = (): readonly ShownPart[] => [...parts()]
  return { body, exact, messages, contents, parts, built, state: past.state }
}

/** The newest view, as it was sent. */
export async function newestView(
  journal: Journal,
  rules: readonly CustomRule[],
): Promise<BuiltView | undefined> {
  const { newestRequest } = journal.facts
  if (newestRequest === undefined) return undefined
  const past = await Journal.until(journal, newestRequest.seq - 1)
  return (await rebuild(past, newestRequest, { rules })).built
}

/** A request's body: what the frame says, and the messages of a view. */
export function bodyOf(
  format: FormatName,
  request: Pick<RequestEntry, 'model'>,
  built: { readonly messages: readonly Json[]; readonly system?: Json },
  frame: JsonObject = {},
): JsonObject {
  const { system, tools, params } = frame
  const own = built.system ?? system
  const { fields } = formatNamed(format)
  return {
    ...(request.model === undefined ? {} : { model: request.model }),
    ...(isObject(params) ? (params as JsonObject) : {}),
    ...(own === undefined ? {} : { [fields.system]: own }),
    ...(tools === undefined ? {} : { tools }),
    [fields.messages]: built.messages,
  }
}

/** The first position at which `after` does not extend `before`. */
function compare(before: readonly Json[], after: readonly Json[]): number | undefined {
  const index = before.findIndex((message, at) => !equalJson(message, after[at]))
  return index === -1 ? undefined : index
}

function causeOf(
  before: RequestEntry,
  after: RequestEntry,
  entries: readonly Entry[],
): Omit<RequestChange, 'index'> {
  const between = entries.slice(before.seq, after.seq - 1).find(({ type }) => type === 'edit')
  if (between?.type === 'edit') {
    return { cause: 'edit', rule: between.rule, reason: between.reason }
  }
  if (before.model !== after.model) return { cause: 'model' }
  if (before.frameHash !== after.frameHash) return { cause: 'frame' }
  if (!equalJson(before.details?.policy, after.details?.policy)) return { cause: 'policy' }
  return { cause: after.details?.budget === undefined ? 'repair' : 'budget' }
}
