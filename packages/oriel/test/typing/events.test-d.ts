// Types of events: asking for an event's `type` gives what events of that type always have.

import { type EventMessage, type EventType, memoryStore, openThread, type ThreadEvent } from 'oriel'

type Of<Type extends EventType> = Extract<ThreadEvent, { readonly type: Type }>
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const holds = <_ extends true>(): void => undefined

holds<Same<ThreadEvent['type'], EventType>>()
holds<Same<Of<'message-added'>['message'], EventMessage>>()
holds<Same<Of<'cache-broken'>['message'], string>>()

export function listener(event: ThreadEvent): string {
  // Whatever the type: a sentence, and where the thread stands.
  const { text, thread, step, tokensSaved = 0 } = event
  if (event.type === 'cache-broken') return `${event.tokensLost.toFixed()} ${event.reason.trim()}`
  if (event.type === 'compaction-ended') {
    const { messages, tokens, trigger } = event
    return `${trigger}: ${messages.after - messages.before}, ${tokens.after - tokens.before}`
  }
  if (event.type === 'message-removed') return `${event.id} ${event.message.role}`
  if (event.type === 'epoch-applied') return `${event.id} ${event.tokens.after.toFixed()}`
  // @ts-expect-error No event has this type.
  if (event.type === 'cache-broke') return ''
  // @ts-expect-error What a policy change has lost, nobody knows: it may be missing.
  if (event.type === 'policy-changed') return event.tokensLost.toFixed()
  return `${text} ${thread} ${step} ${tokensSaved}`
}

interface Meta {
  readonly author: string
}

export async function meta(): Promise<void> {
  const thread = await openThread<Meta>({
    store: memoryStore(),
    on: (event) => {
      if (event.type === 'message-added') console.log(event.message.meta?.author.trim())
    },
  })
  await thread.append([{ role: 'user', content: 'hello', meta: { author: 'Ada' } }])
  // @ts-expect-error Another type of data of the host's own.
  const wrong: Message<Meta> = { role: 'user', content: 'x', meta: { author: 1 } }
  for (const entry of await thread.log()) {
    if (entry.type === 'message') console.log(entry.meta?.author.trim(), wrong)
  }
}
