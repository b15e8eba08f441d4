import { expect, it } from 'vitest'
import { z } from 'zod'
import { OrielError } from '../core/log/errors.ts'
import { defineRule } from '../rules/custom.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { chatMessage } from '../testing/builders.ts'
import { openThread } from './thread.ts'

const { user, assistant, calls, result } = chatMessage
const long = 'a line of output with many words in it\n'.repeat(20)

/** Omits results that are older than some steps. */
const forget = defineRule({
  name: 'forget',
  schema: z.strictObject({ after: z.number().int().min(0).optional() }),
  defaults: { after: 0 },
  propose: ({ messages, step }, { after }) =>
    messages
      .filter((message) => step - message.step > after)
      .flatMap(({ blocks }) => blocks.filter(({ type }) => type === 'tool-result'))
      .map(({ id }) => ({ block: id, form: 'omitted', reason: 'forgotten' })),
})

const run = [
  user('begin'),
  calls({ id: 'c1' }),
  result('c1', `first ${long}`),
  calls({ id: 'c2' }),
  result('c2', `second ${long}`),
]
const format = 'openai-chat'
const rules = [forget] as const
const text = (messages: readonly unknown[]): string => JSON.stringify(messages)

async function opened(policy: { forget?: { after?: number }; schedule?: 'cache-aware' }) {
  const store = memoryStore()
  const thread = await openThread({ id: 't', store, policy, rules })
  await thread.append(run, { format })
  return { store, thread }
}

it('[UR2] its edits are in the log and the trace, and an undo forbids that form for that block', async () => {
  const { thread } = await opened({ forget: {} })
  const view = await thread.view()
  expect(view.trace.map(({ rule, reason, index }) => [rule, reason, index])).toEqual([
    ['forget', 'forgotten', 2],
  ])
  expect(view.epoch).toMatchObject({ applied: 1, cause: 'policy' })
  const again = await thread.view()
  expect([again.epoch.applied, again.messages]).toEqual([0, view.messages])
  expect(await thread.expand(view.trace[0]?.id ?? '')).toMatchObject({
    ok: true,
    text: `first ${long}`,
  })
  await thread.undo(view.epoch.id)
  expect(text((await thread.view()).messages)).toContain('first a line')
})

it('[UR3] what is pinned stays as it is', async () => {
  const { thread } = await opened({ forget: {} })
  const entry = (await thread.log()).find((one) => one.type === 'message' && one.role === 'tool')
  await thread.pin(entry?.id ?? '')
  const view = await thread.view()
  expect([view.messages, view.trace]).toEqual([run, []])
})

it('[UR4] its edits wait until they pay, and a budget counts what they leave', async () => {
  const { thread } = await opened({ forget: { after: 2 }, schedule: 'cache-aware' })
  expect((await thread.view()).trace).toEqual([])
  await thread.append([calls({ id: 'c3' }), result('c3', 'short')], { format })
  const waiting = await thread.view()
  expect([waiting.trace, waiting.epoch.cause]).toEqual([[], 'none'])
  const fitted = await thread.view({ budget: 400 })
  expect(fitted.tokens.after).toBeLessThanOrEqual(400)
  expect(new Set(fitted.trace.map(({ rule }) => rule))).toEqual(new Set(['budget']))
})

it('[UR6] a rule that throws fails the view, and nothing is written', async () => {
  const broken = defineRule({
    name: 'broken',
    propose: () => {
      throw new Error('no')
    },
  })
  const thread = await openThread({ store: memoryStore(), policy: { broken: {} }, rules: [broken] })
  await thread.append(run, { format })
  const before = await thread.log()
  const error: unknown = await thread.view().catch((reason: unknown) => reason)
  expect(OrielError.is(error, 'rule-failed') && error.details).toEqual({ rule: 'broken' })
  expect(await thread.log()).toEqual(before)
  await thread.setPolicy({})
  expect((await thread.view()).messages).toEqual(run)
})

it('[UR7] the log keeps its settings as they were written; the thread is opened with the rule or not at all', async () => {
  const { store, thread } = await opened({ forget: {} })
  await thread.view()
  await thread.settled()
  const logged = (await thread.log()).find((one) => one.type === 'setting' && one.name === 'policy')
  expect(logged).toMatchObject({ value: { forget: {} } })
  await expect(openThread({ id: 't', store })).rejects.toMatchObject({
    code: 'invalid-policy',
    path: 'policy.forget',
  })
  const other = await openThread({ id: 't', store, rules })
  expect(other.policy).toEqual({ forget: {} })
  await other.append([assistant('done'), user('go on')], { format })
  expect((await other.view()).trace.map(({ rule }) => rule)).toEqual(['forget', 'forget'])
})

it('[UR7] past requests are rebuilt, also with a policy of their own, and also when the rule is gone', async () => {
  const { store, thread } = await opened({})
  await thread.view({ policy: { forget: {} } })
  expect(await thread.requestAt(3)).toMatchObject({ exact: true })
  await thread.append([assistant('done'), user('go on')], { format })
  await thread.setPolicy({ forget: {} })
  await thread.view()
  await thread.setPolicy({})
  await thread.settled()
  const without = await openThread({ id: 't', store })
  expect((await without.requestAt(4)).exact).toBe(true)
  expect((await without.requestAt(3)).exact).toBe(false)
  expect((await without.view()).trace.map(({ rule }) => rule)).toEqual(['forget', 'forget'])
})

it('[UR1] a fork, a policy for one view and a policy for the thread know the rule too', async () => {
  const { thread } = await opened({})
  const dry = await thread.view({ policy: { forget: {} }, dryRun: true })
  expect(dry.trace.map(({ rule }) => rule)).toEqual(['forget'])
  const fork = await thread.fork((await thread.log()).length)
  await fork.setPolicy({ forget: {} })
  expect((await fork.view()).trace.map(({ rule }) => rule)).toEqual(['forget'])
  await expect(thread.setPolicy({ forget: { after: -1 } })).rejects.toMatchObject({
    path: 'policy.forget.after',
  })
  const { view } = await thread.request(run, { format, threadPolicy: { forget: {} } })
  expect(view.trace.map(({ rule }) => rule)).toEqual(['forget'])
  // @ts-expect-error: the field has another name.
  await expect(thread.setPolicy({ forget: { afer: 1 } })).rejects.toMatchObject({
    code: 'invalid-policy',
  })
})
