// The question for a summary as the conversation's own next request: the provider has cached all but its end.

import type { JsonObject } from '../../core/log/json.ts'
import type { ViewMessage } from '../../core/view/view.ts'
import { formatNamed } from '../../providers/registry.ts'
import type { AlignedRequest } from '../summaries/answer.ts'
import { bodyOf } from '../view/rebuild.ts'
import { buildView, type ViewRequest } from '../view/view.ts'

/** The view as it would be sent without further edits, and `instruction` as the newest message. */
export function alignedRequest(request: ViewRequest, instruction: string): AlignedRequest {
  const { format = 'openai-chat', frame, model } = request.options
  const target = formatNamed(format)
  // An edit that is not in the log yet would change what the provider has cached.
  const { shown } = buildView({ ...request, isDecided: true })
  const asked: ViewMessage = {
    role: 'user',
    origin: 'host',
    blocks: [{ type: 'text', text: instruction }],
  }
  const { messages, system } = target.encode([...shown, asked])
  const mark = request.policy.schedule === 'cache-aware' ? target.cacheMarks?.add : undefined
  const view = {
    messages: mark === undefined ? messages : mark(messages, request.framing.frame),
    ...(system === undefined ? {} : { system }),
  }
  const named = model === undefined ? {} : { model }
  return { format, ...named, body: bodyOf(format, named, view, frame as JsonObject | undefined) }
}
