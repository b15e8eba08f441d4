// Messages of Chat Completions that clients resend.

import { isJsonObject } from '../../core/log/json.ts'
import { gistOf, isAlike } from '../gist.ts'
import type { ResendFormat } from '../provider.ts'
import { objectsIn } from '../stream.ts'

export const resend: ResendFormat = {
  gistOf,
  isAlike,
  callsIn(message) {
    if (!isJsonObject(message)) return []
    const { tool_calls: calls, tool_call_id: answered } = message
    const made = objectsIn(calls).map(({ id }) => `c${String(id)}`)
    return typeof answered === 'string' ? [`r${answered}`, ...made] : made
  },
}
