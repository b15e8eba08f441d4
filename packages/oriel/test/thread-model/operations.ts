// Random operations on a thread. Positions are taken modulo what is there, so that every list of operations can be run and shrinks.

import * as fc from 'fast-check'
import type { Policy } from '../../src/policy/schema.ts'
import type { FormatName } from '../../src/providers/format.ts'
import { formatNames } from '../../src/providers/registry.ts'
import type { Fault } from './faulty-store.ts'
import { type Piece, pieceArbitrary, type WrittenFormat } from './talk.ts'

/** Which of the two Thread objects acts. */
export type Who = 0 | 1

/** How a client's copy of the history differs from the log. */
export type Change =
  | { readonly kind: 'grown' }
  | { readonly kind: 'truncated'; readonly keep: number }
  | { readonly kind: 'edited'; readonly at: number }
  /** A result comes back with another text; a short one is meant as less of the same. */
  | { readonly kind: 'revised'; readonly at: number; readonly isShort: boolean }
  /** Assistant messages come back with another shape and the same content. */
  | { readonly kind: 'altered'; readonly how: number }

export interface ViewChoice {
  readonly format: FormatName
  readonly budget?: number
  readonly policy?: Policy
  readonly dryRun?: boolean
  readonly system?: string
  readonly model?: string
}

/** Something that is asked of one Thread, and can be asked again. */
export type Request =
  | {
      readonly type: 'append'
      readonly who: Who
      readonly pieces: readonly Piece[]
      readonly format: WrittenFormat
      /** Whether the messages have ids of the caller's own. */
      readonly hasIds: boolean
      /** How many messages that are already there come first once more, by their ids. */
      readonly repeated: number
    }
  | {
      readonly type: 'sync'
      readonly who: Who
      readonly format: FormatName
      readonly change: Change
      readonly pieces: readonly Piece[]
      /** Which system text comes first; 0 for none. */
      readonly leading: number
    }
  | { readonly type: 'view'; readonly who: Who; readonly choice: ViewChoice }
  | { readonly type: 'undo'; readonly who: Who; readonly pick: number; readonly isEpoch: boolean }
  | { readonly type: 'fork'; readonly who: Who; readonly at: number; readonly isStaying: boolean }
  | {
      readonly type: 'mark'
      readonly who: Who
      readonly mark: 'pin' | 'unpin' | 'exclude' | 'include'
      readonly pick: number
    }
  | { readonly type: 'policy'; readonly who: Who; readonly policy: Policy }
  | { readonly type: 'usage'; readonly who: Who; readonly tokens: number }
  | { readonly type: 'compact'; readonly who: Who }

export type Operation =
  | Request
  | { readonly type: 'reload'; readonly who: Who }
  | { readonly type: 'tick'; readonly by: number }
  /** Both objects at once. */
  | { readonly type: 'race'; readonly both: readonly [Request, Request] }
  | {
      readonly type: 'fault'
      readonly fault: Fault
      readonly request: Request
      /** Whether the retry comes from a new process. */
      readonly isReloaded: boolean
    }

export type OperationType = Operation['type']

const allKinds = ['user', 'reply', 'system', 'note', 'exchange', 'calls', 'results'] as const
const completeKinds = ['user', 'reply', 'exchange'] as const

/** Windows over turns alone, the whole of `history`, or every rule. */
export type Rules = 'windows' | 'history' | 'all'

export interface OperationOptions {
  readonly types: readonly OperationType[]
  /** Only whole exchanges. @default false */
  readonly isComplete?: boolean
  /** Which rules the policies have. @default 'all' */
  readonly rules?: Rules
  readonly maxLength?: number
}

/** Lists of operations that begin with something to work on. */
export function operationsArbitrary(options: OperationOptions): fc.Arbitrary<readonly Operation[]> {
  const { maxLength = 14 } = options
  const pieces = fc.array(pieceArbitrary(kindsOf(options)), { maxLength: 8, size: 'max' })
  const opening = append(fc.constant<Who>(0), pieces)
  const one = fc.oneof(...options.types.map((type) => arbitraryOf(type, options)))
  const rest = fc.array(one, { maxLength, size: 'max' })
  return fc.tuple(opening, rest).map(([first, others]) => [first, ...others])
}

function kindsOf({ isComplete = false }: OperationOptions): readonly Piece['kind'][] {
  return isComplete ? completeKinds : allKinds
}

/** Policies whose limits are so small that they often act. Shrinks to none. */
export function policyOf(rules: Rules): fc.Arbitrary<Policy> {
  const part = { requiredKeys: [], noNullPrototype: true }
  const windows = {
    policy: fc.constantFrom('lastN' as const, 'none' as const, 'all' as const),
    length: fc.nat({ max: 2 }),
    preserveSystemMessages: fc.boolean(),
  }
  const caps = { maxMessages: fc.nat({ max: 6 }), keepRecentMessages: fc.nat({ max: 3 }) }
  const history = fc.record(rules === 'windows' ? windows : { ...windows, ...caps }, part)
  const toolResults = fc.record(
    {
      strategy: fc.constantFrom('keepRecent' as const, 'keepOne' as const, 'dropAll' as const),
      max: fc.nat({ max: 2 }),
      placeholder: fc.constantFrom('informative' as const, 'plain' as const),
      cutoff: fc.nat({ max: 3 }),
    },
    part,
  )
  const expiring = fc.record({
    after: fc.nat({ max: 2 }),
    mode: fc.constantFrom('remove' as const, 'compact' as const),
    length: fc.integer({ min: 1, max: 20 }),
  })
  const expiry = expiring.map((one) => ({ tools: { '*': one } }))
  const toolOutput = fc.record({ maxChars: fc.integer({ min: 10, max: 500 }) })
  const compaction = fc.record({
    maxTokens: fc.constantFrom(0, 200, 600),
    maxMessages: fc.integer({ min: 3, max: 8 }),
    keepRecent: fc.nat({ max: 3 }),
    keepRecentTokens: fc.nat({ max: 100 }),
  })
  const several = fc.record({ history, toolResults, expiry, toolOutput, compaction }, part)
  return fc.oneof(
    { weight: 1, arbitrary: fc.constant<Policy>({}) },
    { weight: 3, arbitrary: history.map((one): Policy => ({ history: one })) },
    ...(rules === 'all' ? [{ weight: 3, arbitrary: several as fc.Arbitrary<Policy> }] : []),
  )
}

function arbitraryOf(type: OperationType, options: OperationOptions): fc.Arbitrary<Operation> {
  const who = fc.constantFrom<Who>(0, 1)
  switch (type) {
    case 'reload':
      return fc.record({ type: fc.constant('reload' as const), who })
    case 'tick':
      return fc.record({ type: fc.constant('tick' as const), by: fc.integer({ min: -5, max: 20 }) })
    case 'race':
      return race(options)
    case 'fault':
      return faulty(options)
    default:
      return requestOf(type, options)
  }
}

function requestOf(type: Request['type'], options: OperationOptions): fc.Arbitrary<Request> {
  const { rules = 'all' } = options
  const pieces = fc.array(pieceArbitrary(kindsOf(options)), { minLength: 1, maxLength: 4 })
  const who = fc.constantFrom<Who>(0, 1)
  switch (type) {
    case 'append':
      return append(who, pieces)
    case 'sync':
      return fc.record({
        type: fc.constant('sync' as const),
        who,
        format: fc.constantFrom<FormatName>(...formatNames),
        change: change(),
        pieces,
        leading: fc.nat({ max: 2 }),
      })
    case 'view':
      return fc.record({ type: fc.constant('view' as const), who, choice: viewChoice(rules) })
    case 'undo':
      return fc.record({
        type: fc.constant('undo' as const),
        who,
        pick: fc.nat({ max: 20 }),
        isEpoch: fc.boolean(),
      })
    case 'fork':
      return fc.record({
        type: fc.constant('fork' as const),
        who,
        at: fc.nat({ max: 60 }),
        isStaying: fc.boolean(),
      })
    case 'mark':
      return mark(who)
    case 'policy':
      return fc.record({ type: fc.constant('policy' as const), who, policy: policyOf(rules) })
    case 'compact':
      return fc.record({ type: fc.constant('compact' as const), who })
    case 'usage':
      return fc.record({
        type: fc.constant('usage' as const),
        who,
        tokens: fc.integer({ min: 1, max: 9999 }),
      })
  }
}

function append(
  who: fc.Arbitrary<Who>,
  pieces: fc.Arbitrary<readonly Piece[]>,
): fc.Arbitrary<Request> {
  return fc.record({
    type: fc.constant('append' as const),
    who,
    pieces,
    format: fc.constantFrom<WrittenFormat>('neutral', ...formatNames),
    hasIds: fc.boolean(),
    repeated: fc.oneof(fc.constant(0), fc.nat({ max: 3 })),
  })
}

function change(): fc.Arbitrary<Change> {
  return fc.oneof(
    fc.constant<Change>({ kind: 'grown' }),
    fc.record({ kind: fc.constant('truncated' as const), keep: fc.nat({ max: 20 }) }),
    fc.record({ kind: fc.constant('edited' as const), at: fc.nat({ max: 20 }) }),
    fc.record({
      kind: fc.constant('revised' as const),
      at: fc.nat({ max: 20 }),
      isShort: fc.boolean(),
    }),
    fc.record({ kind: fc.constant('altered' as const), how: fc.nat({ max: 4 }) }),
  )
}

/** Most views are the thread's own; some have a budget, a policy for this call, or commit nothing. */
function viewChoice(rules: Rules): fc.Arbitrary<ViewChoice> {
  const format = fc.oneof(
    { weight: 2, arbitrary: fc.constant<FormatName>('openai-chat') },
    { weight: 1, arbitrary: fc.constantFrom<FormatName>(...formatNames) },
  )
  const around = {
    system: fc.constantFrom('Be brief.', 'Be kind.'),
    model: fc.constantFrom('small', 'large'),
  }
  const some = { requiredKeys: ['format'] as ['format'], noNullPrototype: true }
  const special = {
    budget: fc.integer({ min: 1, max: 3000 }),
    policy: policyOf(rules),
    dryRun: fc.boolean(),
  }
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ format, ...around }, some) },
    { weight: 1, arbitrary: fc.record({ format, ...around, ...special }, some) },
  )
}

function mark(who: fc.Arbitrary<Who>): fc.Arbitrary<Request> {
  return fc.record({
    type: fc.constant('mark' as const),
    who,
    mark: fc.constantFrom('pin' as const, 'unpin' as const, 'exclude' as const, 'include' as const),
    pick: fc.nat({ max: 40 }),
  })
}

function race(options: OperationOptions): fc.Arbitrary<Operation> {
  const types = ['append', 'view', 'mark', 'usage'] as const
  const one = fc.oneof(...types.map((type) => requestOf(type, options)))
  return fc.tuple(one, one).map(([left, right]) => ({
    type: 'race',
    both: [
      { ...left, who: 0 },
      { ...right, who: 1 },
    ],
  }))
}

function faulty(options: OperationOptions): fc.Arbitrary<Operation> {
  const types = ['append', 'sync', 'view', 'undo', 'fork', 'mark', 'policy'] as const
  return fc.record({
    type: fc.constant('fault' as const),
    fault: fc.record({ nth: fc.integer({ min: 1, max: 5 }), isWritten: fc.boolean() }),
    isReloaded: fc.boolean(),
    request: fc
      .oneof(...types.map((type) => requestOf(type, options)))
      // Only what has an id can be retried without doubling.
      .map((request) => (request.type === 'append' ? { ...request, hasIds: true } : request)),
  })
}
