// No option is accepted and ignored: every function that takes options rejects a name that it does not know.

import * as fc from 'fast-check'
import OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import {
  applyHistoryPolicy,
  enrich,
  eraseOlderThan,
  eraseTenant,
  eraseThread,
  lookupPrices,
  memoryStore,
  openThread,
  postgresStore,
  project,
  readHistory,
  resolvePolicy,
  sqliteStore,
} from '../src/index.ts'
import { orielMiddleware as aiSdkMiddleware, withOriel } from '../src/integrations/ai-sdk.ts'
import { orielMiddleware as langchainMiddleware } from '../src/integrations/langchain.ts'
import { managed } from '../src/integrations/openai.ts'
import { simulate } from '../src/simulate/index.ts'

type Options = Record<string, unknown>
const history = [{ role: 'user', content: 'hello' }]
const thread = async () => {
  const made = await openThread({ store: memoryStore() })
  await made.append(history)
  return made
}
const nothing = () => Promise.resolve()
const model = {
  specificationVersion: 'v3',
  provider: 'p',
  modelId: 'm',
  doGenerate: nothing,
  doStream: nothing,
}
const client = new OpenAI({ apiKey: 'none', baseURL: 'http://127.0.0.1:9' })

/** Each with options that are right, and a way to call it with those. */
const functions: readonly (readonly [
  name: string,
  right: Options,
  call: (options: never) => unknown,
])[] = [
  ['project', { budget: 500 }, (options) => project(history, {}, options)],
  ['openThread', { store: memoryStore() }, (options) => openThread(options)],
  ['append', { expected: 1 }, async (options) => (await thread()).append(history, options)],
  ['sync', {}, async (options) => (await thread()).sync(history, options)],
  ['match', {}, async (options) => (await thread()).match(history, options)],
  ['view', { dryRun: true }, async (options) => (await thread()).view(options)],
  ['request', { budget: 500 }, async (options) => (await thread()).request(history, options)],
  ['preview', {}, async (options) => (await thread()).preview(history, options)],
  ['compact', {}, async (options) => (await thread()).compact(options)],
  [
    'read',
    { from: 1 },
    async (options) => {
      for await (const _ of (await thread()).read(options)) break
    },
  ],
  ['memoryStore', {}, (options) => memoryStore(options)],
  ['sqliteStore', { writes: 'worker' }, (options) => sqliteStore('/tmp/never-opened.db', options)],
  ['postgresStore', { schema: 's' }, (options) => postgresStore('postgres://127.0.0.1/x', options)],
  ['resolvePolicy', { env: {} }, (options) => resolvePolicy(options)],
  ['applyHistoryPolicy', {}, (options) => applyHistoryPolicy(history, options)],
  ['enrich', {}, (options) => enrich({ role: 'user', content: 'x' }, [], options)],
  ['readHistory', {}, (options) => readHistory(history, options)],
  ['lookupPrices', { model: 'gpt-5' }, (options) => lookupPrices(options)],
  ['eraseThread', { store: memoryStore(), id: 't' }, (options) => eraseThread(options)],
  ['eraseTenant', { store: memoryStore(), tenant: 't' }, (options) => eraseTenant(options)],
  ['eraseOlderThan', { store: memoryStore(), maxAgeMs: 1 }, (options) => eraseOlderThan(options)],
  ['withOriel', { policy: {} }, (options) => withOriel(model, options)],
  ['orielMiddleware', { policy: {} }, (options) => aiSdkMiddleware(options)],
  ['orielMiddleware', { policy: {} }, (options) => langchainMiddleware(options)],
  ['managed', { policy: {} }, (options) => managed(client, options)],
  ['simulate', { policies: [] }, (options) => simulate([], options)],
]

describe.each(functions)('options of %s', (name, right, call) => {
  it('[OP1] are taken where they are right', async () => {
    await expect(Promise.resolve().then(() => call(right as never))).resolves.not.toThrow()
  })

  it('[OP1] are rejected by name where one is unknown', () =>
    fc.assert(
      fc.asyncProperty(fc.string({ minLength: 1, maxLength: 30 }), async (letters) => {
        // No option of ours has such a name.
        const unknown = `${letters} ?`
        const options = { ...right, [unknown]: undefined }
        const made = Promise.resolve().then(() => call(options as never))
        await expect(made).rejects.toMatchObject({ code: 'invalid-option', path: unknown })
        await expect(made).rejects.toThrow(`${name} has no option`)
      }),
      { numRuns: 5 },
    ))
})

const withOption = functions.filter(([, right]) => Object.keys(right).length > 0)
it.each(withOption)('[OP1] a misspelt option of %s names the right one', async (_, right, call) => {
  const [known = ''] = Object.keys(right)
  const made = Promise.resolve().then(() => call({ ...right, [`${known}s`]: 1 } as never))
  await expect(made).rejects.toThrow(`Did you mean '${known}'?`)
})
