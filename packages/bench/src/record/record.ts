// Records the client libraries: `npm run record [part of a name]`. Writes one fixture per recording.

import { aiSdk } from './clients/ai-sdk.ts'
import { anthropic } from './clients/anthropic.ts'
import { langchain } from './clients/langchain.ts'
import { openaiChat } from './clients/openai-chat.ts'
import { openaiResponses } from './clients/openai-responses.ts'
import { writeFixture } from './fixture.ts'
import { record } from './recording.ts'

const wanted = process.argv[2] ?? ''
const recordings = [...openaiChat, ...openaiResponses, ...anthropic, ...aiSdk, ...langchain].filter(
  ({ name }) => name.includes(wanted),
)

for (const recording of recordings) {
  try {
    const fixture = await record(recording)
    writeFixture(recording.name, fixture)
    console.log(`${recording.name}: ${fixture.requests.length} requests`)
  } catch (error) {
    process.exitCode = 1
    console.error(`${recording.name}: ${error instanceof Error ? error.stack : String(error)}`)
  }
}
