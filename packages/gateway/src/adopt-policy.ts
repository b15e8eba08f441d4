// A thread follows the policy of its agent and operator.

import { canonicalJson, type Json, type Policy, type Thread } from 'oriel'

/** Gives a thread the policy of its agent and operator; answers whether it had another one. */
export function adoptPolicy(thread: Thread, policy: Policy): Promise<boolean> | false {
  const last = adopted.get(thread)
  if (last?.policy === policy && last.branch === thread.id) return false
  return adopt(thread, policy)
}

async function adopt(thread: Thread, policy: Policy): Promise<boolean> {
  const { policy: own } = thread
  const isOther = own !== policy && canonicalJson(own as Json) !== canonicalJson(policy as Json)
  if (isOther) await thread.setPolicy(policy)
  adopted.set(thread, { policy, branch: thread.id })
  return isOther
}

/** The policy that a thread was last given: comparing it with every call would cost more than the view. */
const adopted = new WeakMap<Thread, { readonly policy: Policy; readonly branch: string }>()
