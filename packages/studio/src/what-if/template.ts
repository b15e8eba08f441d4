import type { Policy } from '../contract.ts'

export interface Template {
  readonly name: string
  readonly model?: string
  readonly chatSettings: { readonly historyPolicy?: string; readonly historyLength?: number }
  readonly policy: Policy | string
}

/** An agent template with this policy: what document 002 calls chat settings is also named there. */
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
