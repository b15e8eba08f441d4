// What a model would say, so that the example runs without one.

import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, type BaseMessage, ToolMessage } from '@langchain/core/messages'
import type { ChatResult } from '@langchain/core/outputs'

const modules = ['parser', 'lexer', 'printer', 'linker']

/** Runs the tests of each module, one at a time, and reports what failed in the ones it still sees. */
export class ScriptedModel extends BaseChatModel {
  readonly shown: BaseMessage[][] = []

  constructor() {
    super({})
  }

  _llmType(): string {
    return 'scripted'
  }

  override bindTools(): this {
    return this
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    this.shown.push(messages)
    const results = messages.filter((message) => ToolMessage.isInstance(message))
    const name = modules[results.length]
    const message =
      name === undefined
        ? new AIMessage(failuresIn(results).join('\n'))
        : new AIMessage({
            content: `Next: ${name}.`,
            tool_calls: [
              { id: `call_${name}`, name: 'run_tests', args: { name }, type: 'tool_call' },
            ],
          })
    return { generations: [{ message, text: message.text }] }
  }
}

function failuresIn(results: readonly BaseMessage[]): readonly string[] {
  return results.flatMap(({ text }) => text.split('\n').filter((line) => line.startsWith('not ok')))
}
