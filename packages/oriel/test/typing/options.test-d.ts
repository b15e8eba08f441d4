// An unknown option is an error of the compiler too, for every function that takes options (the check at run time: unknown-options.test.ts).

import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import {
  applyHistoryPolicy,
  defineRule,
  enrich,
  eraseOlderThan,
  eraseTenant,
  eraseThread,
  lookupPrices,
  memoryStore,
  openThread,
  type Policy,
  postgresStore,
  project,
  readHistory,
  resolvePolicy,
  searchThreads,
  sqliteStore,
} from 'oriel'
import { clearToolUses, managed as managedAnthropic } from 'oriel/anthropic'
import { LogInspector } from 'oriel/inspect'
import { managed } from 'oriel/openai'
import { simulate } from 'oriel/simulate'

const store = memoryStore()
const thread = { id: 'a', store }
declare const openai: OpenAI
declare const anthropic: Anthropic

/** Never called: only compiled. */
export async function unknownOptions(): Promise<void> {
  // @ts-expect-error
  project([], {}, { buget: 1 })
  // @ts-expect-error
  project([], { histori: {} })
  // @ts-expect-error
  project([], { history: { lenght: 1 } })
  // @ts-expect-error
  project([], 'recomended')
  // @ts-expect-error
  await openThread({ ...thread, polcy: {} })
  const opened = await openThread(thread)
  // @ts-expect-error
  await opened.append([], { formt: 'anthropic' })
  // @ts-expect-error
  await opened.sync([], { formt: 'anthropic' })
  // @ts-expect-error
  await opened.view({ buget: 1 })
  // @ts-expect-error
  await opened.request([], { buget: 1 })
  // @ts-expect-error
  await opened.recover(new Error(), { buget: 1 })
  // @ts-expect-error
  await opened.search('x', { limt: 1 })
  // @ts-expect-error
  await opened.expand('x', { line: [0, 1] })
  // @ts-expect-error
  await opened.compact({ instruction: '' })
  // @ts-expect-error
  await opened.setPolicy({ toolResult: {} })
  // @ts-expect-error
  memoryStore({ nwo: Date.now })
  // @ts-expect-error
  sqliteStore('x.db', { busyTimeout: 1 })
  // @ts-expect-error
  postgresStore('postgres://x', { shema: 'x' })
  // @ts-expect-error
  resolvePolicy({ enviroment: {} })
  // @ts-expect-error
  applyHistoryPolicy([], { historyLenght: 1 })
  // @ts-expect-error
  await enrich({ role: 'user', content: '' }, [], { timeout: 1 })
  // @ts-expect-error
  readHistory([], { formt: 'anthropic' })
  // @ts-expect-error
  lookupPrices({ modl: 'x' })
  // @ts-expect-error
  await eraseThread({ ...thread, tennant: 'x' })
  // @ts-expect-error
  await eraseTenant({ store, tenant: 'x', dryrun: true })
  // @ts-expect-error
  await eraseOlderThan({ store, maxAge: 1 })
  // @ts-expect-error
  await searchThreads(store, 'x', 'y', { limt: 1 })
  // @ts-expect-error
  defineRule({ name: 'x', propos: () => [] })
  // @ts-expect-error
  managed(openai, { polcy: {} })
  // @ts-expect-error
  managedAnthropic(anthropic, { polcy: {} })
  // @ts-expect-error
  clearToolUses({ messages: [] }, { tigger: {} })
  // @ts-expect-error
  new LogInspector({ store, key: { tenant: 'a', thread: 'b' }, token: 'estimate' })
  // @ts-expect-error
  await simulate([], { policy: [] })
  // @ts-expect-error
  const policy: Policy = { expiry: { tools: { search: { aftr: 1 } } } }
  console.log(policy)
}
