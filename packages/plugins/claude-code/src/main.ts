// The program that the hooks module runs, once per request.

import { text } from 'node:stream/consumers'
import { answerTo, type ClaudeRequest } from './requests.ts'

try {
  const request = JSON.parse(await text(process.stdin)) as ClaudeRequest
  process.stdout.write(await answerTo(request, process.env))
} catch (error) {
  process.stderr.write(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}
