// A thread that one provider compacted continues at another: what is sent there is what would be sent had nothing been compacted.

import fc from 'fast-check'
import { type FormatName, type Json, memoryStore, openThread } from 'oriel'
import { conversationOf } from 'oriel/testing'
import { describe, expect, it } from 'vitest'

interface Compactor {
  readonly format: 'anthropic' | 'openai-responses'
  readonly plain: readonly Json[]
  readonly compacted: readonly Json[]
}

const text = { type: 'output_text', text: 'Going on.', annotations: [] }
const said = { type: 'message', role: 'assistant', content: [text] }
const block = { type: 'compaction', content: 'A summary.', encrypted_content: null }

const compactors: readonly Compactor[] = [
  {
    format: 'anthropic',
    plain: [{ role: 'assistant', content: 'Going on.' }],
    compacted: [{ role: 'assistant', content: [block, { type: 'text', text: 'Going on.' }] }],
  },
  {
    format: 'openai-responses',
    plain: [said],
    compacted: [{ type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAAA' }, said],
  },
]

const others: readonly FormatName[] = ['anthropic', 'openai-chat', 'openai-responses', 'gemini']

describe.each(compactors)('a compaction by $format', ({ format, plain, compacted }) => {
  it.each(others.filter((one) => one !== format))(
    '[PC2] is nothing to %s: the originals are sent, and its own provider gets the block again',
    async (other) => {
      const end = { role: 'user', content: 'And now?' }
      await fc.assert(
        fc.asyncProperty(conversationOf(format), async (messages) => {
          const open = async (answer: readonly Json[]) => {
            const thread = await openThread({ store: memoryStore() })
            await thread.append(messages, { format })
            await thread.append(answer, { format })
            await thread.append([end], { format })
            return thread
          }
          const thread = await open(compacted)
          const before = await thread.view({ format })
          const elsewhere = await thread.view({ format: other })
          const untouched = await (await open(plain)).view({ format: other })
          expect(elsewhere.messages).toEqual(untouched.messages)
          expect(elsewhere.system).toEqual(untouched.system)
          const back = await thread.view({ format })
          expect(back.messages).toEqual(before.messages)
          expect(JSON.stringify(back.messages)).toContain('"compaction"')
        }),
        { numRuns: 25 },
      )
    },
  )
})
