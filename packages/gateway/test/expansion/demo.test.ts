// The built-in demo with expansion: its model asks for what was shortened, and the client sees only the answer.

import { afterEach, describe, expect, it } from 'vitest'
import { demoTools, runDemoTool } from '../../src/demo/tools.ts'
import { createGateway, type GatewayServer, serveGateway } from '../../src/index.ts'
import { spokenFormats } from '../dialect.ts'
import { key, logOf, newestThread } from '../faults/raw-client.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { talk } from '../sdk/talk.ts'
import { policy } from './story.ts'

let server: GatewayServer | undefined
afterEach(() => server?.close())

describe.each(spokenFormats)('%s', (format) => {
  it.each([false, true])(
    '[GX1] the demo finds what it no longer sees (streamed: %s)',
    async (isStream) => {
      server = await serveGateway(createGateway({ expand: true, policy }), { port: 0 })
      const { url } = server
      const called: string[] = []
      const { answers } = await talk({
        ...{ format, isStream, ask: sdkClient(format, { url, key }), tools: demoTools },
        questions: [
          'Read the billing log.',
          'Show me the shipments table.',
          'What did the log say again?',
        ],
        runTool: (name, input) => {
          called.push(name)
          return runDemoTool(name, input)
        },
      })
      expect(called).not.toContain('expand_message')
      expect(answers.at(-1)).toContain('expand_message gave')
      const log = await logOf(url, await newestThread(url))
      const names = log.flatMap((entry) =>
        entry.type === 'message'
          ? entry.blocks.flatMap((block) => (block.type === 'tool-call' ? [block.name] : []))
          : [],
      )
      expect(names).toContain('expand_message')
    },
  )
})
