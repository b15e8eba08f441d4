// Agent template for a what-if policy.

import type { Policy } from '../contract.ts'

export interface Template {
  readonly name: string
  readonly model?: string
  readonly chatSettings: { readonly historyPolicy?: string; readonly historyLength?: number }
  readonly policy: Policy | string
}

/** An agent template with this policy, including document 002's chat settings. */
export function templateOf(policy: Policy | string, model: string | undefined): Template {
  const history = typeof policy === 'string' ? undefined : policy.history
  return {
    name: 'my-agent',
    ...(model === undefined ? {} : { model }),
    chatSettings: {
      ...(history?.policy === undefined ? {} : { historyPolicy: history.policy }),
      ...(history?.length === undefined ? {} : { historyLength: history.length }),
    },
    policy,
  }
}
