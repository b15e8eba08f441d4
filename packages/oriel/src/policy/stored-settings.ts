// Merges an agent's settings from the store into its policy: stored settings win over the template's.

import type { StoredSettings } from '../stores/agent-settings.ts'
import type { Policy } from './schema.ts'

/** Adds an agent's stored settings, tool by tool, and its chat's history. Returns the same policy when nothing is stored. */
export function withStoredSettings(policy: Policy, stored: StoredSettings): Policy {
  return withTools(withChat(policy, stored), stored)
}

function withChat(policy: Policy, { chat }: StoredSettings): Policy {
  if (chat === undefined) return policy
  const { historyPolicy, historyLength } = chat
  return {
    ...policy,
    history: {
      ...policy.history,
      ...(historyPolicy === undefined ? {} : { policy: historyPolicy }),
      ...(historyLength === undefined ? {} : { length: historyLength }),
    },
  }
}

function withTools(policy: Policy, stored: StoredSettings): Policy {
  const hasTools = Object.keys(stored.tools).length > 0
  const hasDefaults = Object.keys(stored.toolDefaults).length > 0
  if (!hasTools && !hasDefaults) return policy
  const { expiry = {} } = policy
  return {
    ...policy,
    expiry: {
      ...expiry,
      ...(hasTools ? { tools: byExactName(expiry.tools, stored.tools) } : {}),
      ...(hasDefaults ? { toolDefaults: { ...expiry.toolDefaults, ...stored.toolDefaults } } : {}),
    },
  }
}

/** A stored row replaces the template's of the same name, however that is written. */
function byExactName<A, B>(
  own: Readonly<Record<string, A>> = {},
  stored: Readonly<Record<string, B>>,
): Record<string, A | B> {
  const plain = (name: string): string => name.trim().toLowerCase()
  const names = new Set(Object.keys(stored).map(plain))
  const kept = Object.entries(own).filter(([name]) => !names.has(plain(name)))
  return Object.fromEntries([...kept, ...Object.entries(stored)])
}
