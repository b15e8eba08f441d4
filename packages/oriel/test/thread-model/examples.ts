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
]

function piece(kind: Piece['kind'], flavour = 0): Piece {
  return { kind, flavour, calls: 1 }
}

function append(...pieces: readonly Piece[]): Request {
  return { type: 'append', who: 0, pieces, format: 'neutral', hasIds: false, repeated: 0 }
}
