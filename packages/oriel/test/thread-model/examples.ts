// Cases that random operations found once, named after the behaviour. Each is run on every store beside the properties.

import {
  bytesCheck,
  type Check,
  coverageCheck,
  naiveCheck,
  prefixCheck,
  scratchCheck,
} from './checks.ts'
import type { Operation, Request } from './operations.ts'
import type { Scenario } from './session.ts'
import type { Piece } from './talk.ts'

export interface Example {
  readonly name: string
  readonly scenario: Scenario
  readonly operations: readonly Operation[]
}

/** What every example is checked by. */
export const exampleChecks: readonly (() => Check)[] = [
  prefixCheck,
  coverageCheck,
  naiveCheck,
  scratchCheck,
  bytesCheck,
]

const view: Request = { type: 'view', who: 0, choice: { format: 'openai-chat' } }

export const examples: readonly Example[] = [
  {
    name: '[I13] a pin brings back the user message that opens its turn, from a checkpoint too',
    scenario: {
      policy: {
        compaction: { maxTokens: 0, maxMessages: 3, keepRecent: 0, keepRecentTokens: 1 },
      },
    },
    operations: [
      append(piece('reply', 7), piece('user'), piece('user'), piece('exchange'), piece('user')),
      view,
      { type: 'mark', who: 0, mark: 'pin', pick: 9 },
    ],
  },
  {
    name: '[I11] a policy that goes along to another branch is there for every object',
    scenario: { policy: { history: {} } },
    operations: [
      append(),
      { type: 'fork', who: 0, at: 0, isStaying: false },
      { type: 'policy', who: 0, policy: { history: { preserveSystemMessages: false } } },
      append(piece('reply')),
      {
        type: 'sync',
        who: 0,
        format: 'openai-chat',
        change: { kind: 'truncated', keep: 0 },
        pieces: [piece('user'), piece('system')],
        leading: 0,
      },
    ],
  },
  {
    name: '[I11] a checkpoint that was due stays where its view is not written, and shows nothing else',
    scenario: {
      policy: { compaction: { maxTokens: 0, maxMessages: 3, keepRecent: 0, keepRecentTokens: 0 } },
    },
    operations: [
      append({ ...piece('exchange'), calls: 2 }, piece('exchange')),
      append(piece('user')),
      {
        type: 'fault',
        fault: { nth: 2, isWritten: false },
        isReloaded: false,
        request: { type: 'view', who: 0, choice: { format: 'openai-chat' } },
      },
      { type: 'view', who: 0, choice: { format: 'openai-chat', budget: 1 } },
    ],
  },
  ...[false, true].map(
    (isWritten): Example => ({
      name: `[I11] an append stays where the checkpoint at the end of its turn fails${isWritten ? ', though written' : ''}`,
      scenario: {
        policy: {
          compaction: { maxTokens: 0, maxMessages: 3, keepRecent: 0, keepRecentTokens: 0 },
        },
      },
      operations: [
        append({ ...piece('exchange'), calls: 2 }),
        {
          type: 'fault',
          fault: { nth: 2, isWritten },
          isReloaded: false,
          request: { ...append(piece('user'), piece('user'), piece('reply')), hasIds: true },
        },
        view,
      ],
    }),
  ),
  {
    name: '[T1] a message whose id is there is not appended again by an object that was opened before the thread began',
    scenario: { policy: { history: { length: 0 } }, snapshotEvery: 1 },
    operations: [
      append(piece('user')),
      { ...append(piece('calls'), piece('user')), hasIds: true },
      view,
      { ...append(piece('calls')), who: 1, repeated: 1 },
    ],
  },
  {
    name: '[T5] the pin of a system message does not bring back the user message before it',
    scenario: { policy: { history: { length: 0 } } },
    operations: [
      append(piece('user'), piece('user'), piece('system')),
      { type: 'mark', who: 1, mark: 'pin', pick: 2 },
      append(piece('user'), piece('exchange')),
      view,
      view,
    ],
  },
  {
    name: '[T5] a pin from before a checkpoint keeps the user message that opens its turn',
    scenario: {
      policy: { compaction: { maxTokens: 0, maxMessages: 3, keepRecent: 0, keepRecentTokens: 1 } },
    },
    operations: [
      append(piece('user'), piece('exchange')),
      { type: 'mark', who: 0, mark: 'pin', pick: 1 },
      append(piece('user'), piece('reply'), piece('user'), piece('reply'), piece('user')),
      view,
      { type: 'compact', who: 0 },
      { type: 'mark', who: 0, mark: 'exclude', pick: 1 },
      view,
      { type: 'mark', who: 0, mark: 'include', pick: 1 },
      { type: 'reload', who: 1 },
    ],
  },
]

function piece(kind: Piece['kind'], flavour = 0): Piece {
  return { kind, flavour, calls: 1 }
}

function append(...pieces: readonly Piece[]): Request & { readonly type: 'append' } {
  return { type: 'append', who: 0, pieces, format: 'neutral', hasIds: false, repeated: 0 }
}
