// A process that talks on one thread as a gateway does: appends, views, and summarizes when the thread is long.

import { OrielError } from '../../src/core/log/errors.ts'
import type { Policy } from '../../src/policy/schema.ts'
import type { Store } from '../../src/stores/store.ts'
import { openThread, type Thread } from '../../src/thread/thread.ts'

const talkPolicy: Policy = {
  compaction: { maxTokens: 700, maxMessages: 14, keepRecent: 2, keepRecentTokens: 100 },
}

/** With every section that a checkpoint's summary must have. */
const summary = [
  'Goal',
  'Constraints',
  'Progress',
  'Key Decisions',
  'Next Steps',
  'Critical Context',
]
  .map((title) => `## ${title}\n(none)`)
  .join('\n')

/** Says `said <id>` when a message is acknowledged, `model` when a summary begins and `modelled` when it is made. */
export async function talk(store: Store, say: (line: string) => void): Promise<void> {
  const summarize = async (): Promise<string> => {
    say('model')
    await new Promise((resolve) => setTimeout(resolve, 40))
    say('modelled')
    return summary
  }
  const thread = await again(() => openThread({ store, id: 'talk', policy: talkPolicy, summarize }))
  for (let turn = 0; turn < 30; turn++) {
    const id = `${process.pid}-${turn}`
    await again(() => thread.append(messagesOf(id)))
    say(`said ${id}-q`)
    say(`said ${id}-a`)
    const { messages } = await again(() => thread.view())
    say(`view ${messages.length}`)
  }
}

function messagesOf(id: string): Parameters<Thread['append']>[0] {
  return [
    { id: `${id}-q`, role: 'user', content: `question ${id} ${'about things '.repeat(10)}` },
    { id: `${id}-a`, role: 'assistant', content: `answer ${id} ${'with words '.repeat(10)}` },
  ]
}

/** Does again what failed with an open outcome: ids make sure that nothing is said twice. */
async function again<T>(action: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await action()
    } catch (error) {
      if (!OrielError.is(error, 'storage-failed')) throw error
    }
  }
}
