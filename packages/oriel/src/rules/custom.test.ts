import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { OrielError } from '../core/log/errors.ts'
import { project } from '../project.ts'
import { chatMessage } from '../testing/builders.ts'
import { type CustomRule, defineRule, type RuleProposal, type RuleState } from './custom.ts'

const { user, assistant, calls, result } = chatMessage

/** Omits the results of one tool that are older than some steps. */
const forget = defineRule({
  name: 'forget',
  schema: z.strictObject({ tool: z.string(), after: z.number().int().min(0).optional() }),
  defaults: { after: 1 },
  propose: ({ messages, step }, settings) =>
    messages.flatMap((message) =>
      message.blocks
        .filter((block) => block.type === 'tool-result' && block.tool === settings.tool)
        .filter(() => step - message.step > settings.after)
        .map((block) => ({ block: block.id, form: 'omitted' as const, reason: 'forgotten' })),
    ),
})

/** A rule that does what one test says. */
const doing = (propose: (state: RuleState) => readonly RuleProposal[]) =>
  defineRule({ name: 'doing', propose })

const long = 'a line of output with many words in it\n'.repeat(20)
const run = [
  user('begin'),
  calls({ id: 'c1', name: 'read' }),
  result('c1', `first ${long}`),
  calls({ id: 'c2', name: 'run' }),
  result('c2', `second ${long}`),
  assistant('done'),
  user('go on'),
]

const shown = (messages: readonly unknown[]): string => JSON.stringify(messages)

function failure(attempt: () => unknown): OrielError {
  try {
    attempt()
  } catch (error) {
    if (OrielError.is(error)) return error
    throw error
  }
  throw new Error('Nothing was thrown.')
}

describe('the settings of a rule of one’s own', () => {
  it('[UR1] come from the policy under its name, filled with the defaults', () => {
    const { messages, trace } = project(run, { forget: { tool: 'read' } }, { rules: [forget] })
    expect(trace.map(({ index, form, rule, reason }) => ({ index, form, rule, reason }))).toEqual([
      { index: 2, form: 'omitted', rule: 'forget', reason: 'forgotten' },
    ])
    expect(shown(messages)).toContain('[Omitted: read result')
    const later = project(run, { forget: { tool: 'read', after: 9 } }, { rules: [forget] })
    expect(later.messages).toEqual(run)
    expect(project(run, {}, { rules: [forget] }).messages).toEqual(run)
  })

  it('[UR1] stand over a preset, and a schema may change their type', () => {
    const pattern = defineRule({
      name: 'pattern',
      schema: z.strictObject({ drop: z.string().transform((text) => new RegExp(text)) }),
      propose: ({ messages }, { drop }) =>
        messages
          .filter(({ blocks }) => blocks.some(({ text }) => drop.test(text)))
          .map(({ id }) => ({ message: id, form: 'dropped', reason: 'it matches' })),
    })
    const { messages } = project(
      [user('one'), assistant('two'), user('three')],
      { preset: 'history-window', pattern: { drop: '^tw' } },
      { rules: [pattern] },
    )
    expect(messages).toEqual([user('one'), user('three')])
  })

  const counting = defineRule({
    name: 'counting',
    defaults: { most: 3, words: ['a'] },
    propose: () => [],
  })

  it.each([
    [{ forget: {} }, 'policy.forget.tool', /expected string/],
    [{ forget: { tool: 'a', after: -1 } }, 'policy.forget.after', /./],
    [{ forget: { tool: 'a', afer: 1 } }, 'policy.forget', /afer/],
    [{ forget: 7 }, 'policy.forget', /got 7, expected object/],
    [{ forget: { tool: () => 'a' } }, 'policy.forget.tool', /./],
    [{ counting: { most: '3' } }, 'policy.counting.most', /got '3', expected number/],
    [{ counting: { words: 'a' } }, 'policy.counting.words', /got 'a', expected array/],
    [
      { counting: { mots: 3 } },
      'policy.counting.mots',
      /unknown key 'mots' \(did you mean 'most'\?\); allowed: most, words\./,
    ],
    [
      { forgt: {} },
      'policy.forgt',
      /unknown key 'forgt' \(did you mean 'forget'\?\); allowed: toolOutput, .*schedule, forget, counting, preset\./,
    ],
    [{ constructor: {} }, 'policy.constructor', /unknown key/],
  ])('[UR1] %j is refused, naming path, value and what is allowed', (policy, path, message) => {
    // Wrong on purpose: the types refuse most of these too.
    const wrong = policy as { readonly history?: undefined }
    const error = failure(() => project(run, wrong, { rules: [forget, counting] }))
    expect(error.path).toBe(path)
    expect(error.message).toMatch(message)
  })

  it('[UR1] a policy that was checked with a rule is refused without it', () => {
    const policy = { history: {}, forget: { tool: 'read' } }
    project(run, policy, { rules: [forget] })
    expect(failure(() => project(run, policy)).message).toContain("unknown key 'forget'")
  })

  it.each([
    ['history', /that name is Oriel's own/],
    ['schedule', /that name is Oriel's own/],
    ['budget', /that name is Oriel's own/],
    ['', /must have a name/],
    ['two words', /must have a name/],
  ])('[UR1] the name %j is refused', (name, message) => {
    const error = failure(() => defineRule({ name, propose: () => [] }))
    expect([error.code, error.path]).toEqual(['invalid-option', 'rule'])
    expect(error.message).toMatch(message)
  })

  it('[UR1] what is no list of rules is refused, and so are two of one name', () => {
    const attempt = (rules: unknown) =>
      failure(() => project(run, {}, { rules: rules as readonly CustomRule[] as readonly [] }))
    expect(attempt({}).path).toBe('rules')
    expect(attempt([{ name: 'a' }]).message).toBe("rules[0] 'a' must have a function propose.")
    expect(attempt([forget, forget]).message).toContain("the name of another rule, 'forget'")
    const nothing = { name: 'a', defaults: {}, schema: 7, propose: () => [] }
    expect(attempt([nothing]).message).toContain('Standard Schema')
  })

  it('[UR1] are typed from the definition to the policy, without casts', () => {
    defineRule({
      name: 'typed',
      schema: z.strictObject({ mode: z.enum(['a', 'b']).optional(), most: z.number().optional() }),
      defaults: { mode: 'a' },
      propose: (state, settings, context) => {
        expectTypeOf(settings.mode).toEqualTypeOf<'a' | 'b'>()
        expectTypeOf(settings.most).toEqualTypeOf<number | undefined>()
        expectTypeOf(state).toEqualTypeOf<RuleState>()
        expectTypeOf(context.now).toEqualTypeOf<number>()
        return []
      },
    })
    defineRule({
      name: 'untyped',
      defaults: { most: 3 },
      propose: (_state, settings) => {
        expectTypeOf(settings).toEqualTypeOf<{ most: number }>()
        return []
      },
    })
    const { schema } = { schema: z.strictObject({ most: z.number().optional() }) }
    // @ts-expect-error: no field of the schema has that name.
    defineRule({ name: 'misspelt', schema, defaults: { mots: 1 }, propose: () => [] })
    // @ts-expect-error: the default has another type.
    defineRule({ name: 'mistyped', schema, defaults: { most: 'a' }, propose: () => [] })
    // @ts-expect-error: a shorter form needs its text.
    doing(() => [{ block: 'e1aa', form: 'clipped', reason: 'x' }])
    const rules = [forget, counting] as const
    // @ts-expect-error: the name is misspelt.
    expect(() => project(run, { forgt: {} }, { rules })).toThrow()
    // @ts-expect-error: the type is wrong.
    expect(() => project(run, { counting: { most: 'a' } }, { rules })).toThrow()
    // @ts-expect-error: the rule is not given.
    expect(() => project(run, { forget: { tool: 'a' } })).toThrow()
  })
})

describe('what a rule of one’s own sees', () => {
  it('[UR5] is what the next request would show, as models may read it', () => {
    let seen: RuleState | undefined
    const looking = doing((state) => {
      seen = state
      return []
    })
    project([{ role: 'system', content: 'Be brief.' }, ...run], { doing: {} }, { rules: [looking] })
    const rows = seen?.messages.map(({ role, turn, step, isProtected, blocks }) => [
      role,
      turn,
      step,
      isProtected,
      blocks.map(({ type, tool, text }) => `${type} ${tool ?? ''} ${text.slice(0, 9)}`),
    ])
    expect([seen?.turn, seen?.step]).toEqual([2, 4])
    expect(rows).toEqual([
      ['system', 0, 1, true, ['text  Be brief.']],
      ['user', 1, 1, false, ['text  begin']],
      ['assistant', 1, 1, false, ['tool-call read {}']],
      ['tool', 1, 1, false, ['tool-result read first a l']],
      ['assistant', 1, 2, false, ['tool-call run {}']],
      ['tool', 1, 2, false, ['tool-result run second a ']],
      ['assistant', 1, 3, false, ['text  done']],
      ['user', 2, 4, true, ['text  go on']],
    ])
    const [block] = seen?.messages[3]?.blocks ?? []
    expect(block).toMatchObject({ form: 'full', callId: 'c1', isError: false })
    expect(block?.tokens).toBeGreaterThan(100)
  })

  it('[UR4] is asked before the window counts what is left', () => {
    const first = doing(({ messages }) =>
      messages.slice(0, 1).map(({ id }) => ({ message: id, form: 'dropped', reason: 'the first' })),
    )
    const asked = [user('one'), assistant('1'), user('two'), assistant('2'), user('three')]
    const policy = { doing: {}, history: { policy: 'all', maxMessages: 4 } } as const
    const { trace } = project(asked, policy, { rules: [first] })
    expect(trace.map(({ index, rule }) => [index, rule])).toEqual([[0, 'doing']])
  })
})

describe('what a rule of one’s own may change', () => {
  const every = (form: 'omitted' | 'dropped') =>
    doing(({ messages }) =>
      messages.flatMap(({ blocks }) =>
        blocks.map(({ id }) => ({ block: id, form, reason: 'all' })),
      ),
    )
  const all = doing(({ messages }) =>
    messages.map(({ id }) => ({ message: id, form: 'dropped', reason: 'all' })),
  )
  const unseen = [...run, calls({ id: 'c3' }), result('c3', long)]

  it('[UR3] never the system text, the newest user message or what the model has not seen', () => {
    const asked = [{ role: 'system', content: 'Be brief.' }, ...unseen]
    for (const rule of [every('omitted'), every('dropped'), all]) {
      const { messages } = project(asked, { doing: {} }, { rules: [rule] })
      expect(messages[0]).toEqual(asked[0])
      expect(messages.slice(-3)).toEqual(unseen.slice(-3))
    }
  })

  it('[UR3] a message that made calls leaves with their results, a result alone leaves a placeholder', () => {
    const dropping = (at: number) =>
      doing(({ messages }) =>
        messages.slice(at, at + 1).map(({ id }) => ({ message: id, form: 'dropped', reason: 'x' })),
      )
    const calling = project(run, { doing: {} }, { rules: [dropping(1)] })
    expect(calling.messages).toEqual([run[0], ...run.slice(3)])
    const answering = project(run, { doing: {} }, { rules: [dropping(2)] })
    expect(answering.messages).toHaveLength(run.length)
    expect(shown(answering.messages.slice(2, 3))).toContain('[Omitted: read result')
    expect(answering.trace.map(({ form }) => form)).toEqual(['omitted'])
  })

  it('[UR3] a block that leaves: a result stays as a placeholder, calls stay as they are', () => {
    const { messages, trace } = project(run, { doing: {} }, { rules: [every('dropped')] })
    expect(trace.map(({ index, form }) => [index, form])).toEqual([
      [0, 'dropped'],
      [2, 'omitted'],
      [4, 'omitted'],
      [5, 'dropped'],
    ])
    expect(messages.filter((message) => 'tool_calls' in (message as object))).toHaveLength(2)
  })

  it('[UR2] a shorter text of its own, in the trace with its name and reason', () => {
    const heads = doing(({ messages }) =>
      messages.flatMap(({ blocks }) =>
        blocks
          .filter(({ text }) => text.length > 100)
          .map(({ id, text }) => ({
            block: id,
            form: 'clipped',
            text: `${text.slice(0, 20)} [expand ${id}]`,
            reason: 'only the beginning',
          })),
      ),
    )
    const { messages, trace, tokens } = project(run, { doing: {} }, { rules: [heads] })
    expect(shown(messages)).toContain('first a line of outp [expand e3')
    expect(trace.map(({ rule, reason, canExpand }) => [rule, reason, canExpand])).toEqual([
      ['doing', 'only the beginning', true],
      ['doing', 'only the beginning', true],
    ])
    expect(tokens.after).toBeLessThan(tokens.before)
  })

  it('[UR2] nothing that would be longer than it was', () => {
    const longer = doing(({ messages }) =>
      messages.flatMap(({ blocks }) =>
        blocks.map(({ id, text }) => ({
          block: id,
          form: 'summarized',
          text: `${text} and more`,
          reason: 'why not',
        })),
      ),
    )
    expect(project(run, { doing: {} }, { rules: [longer] }).messages).toEqual(run)
  })
})

describe('a rule of one’s own that fails', () => {
  const attempt = (propose: () => unknown): OrielError => {
    // Wrong on purpose.
    const rule = doing(propose as () => readonly RuleProposal[])
    return failure(() => project(run, { doing: {} }, { rules: [rule] }))
  }

  it('[UR6] an exception is an error with the rule’s name, and the cause', () => {
    const cause = new Error('a secret of the conversation')
    const error = attempt(() => {
      throw cause
    })
    expect([error.code, error.details, error.cause]).toEqual([
      'rule-failed',
      { rule: 'doing' },
      cause,
    ])
    expect(error.message).toBe("The rule 'doing' failed: it threw an exception: see the cause.")
  })

  it.each([
    [undefined, /must answer with a list/],
    [[7], /no object/],
    [[{ block: 'e9zz', form: 'dropped', reason: 'x' }], /change of e9zz, which is not one/],
    [[{ block: 'a secret text', form: 'dropped', reason: 'x' }], /something without an id/],
    [[{ form: 'dropped', reason: 'x' }], /something without an id/],
  ])('[UR6] the answer %j is an error of the same kind', (answer, message) => {
    const error = attempt(() => answer)
    expect([error.code, error.details]).toEqual(['rule-failed', { rule: 'doing' }])
    expect(error.message).toMatch(message)
  })

  it.each([
    [{ form: 'dropped' }, /without a reason/],
    [{ form: 'dropped', reason: ' ' }, /without a reason/],
    [{ form: 'full', reason: 'x' }, /form that does not exist/],
    [{ form: 'clipped', reason: 'x' }, /text that is missing/],
    [{ form: 'clipped', text: ' ', reason: 'x' }, /text that is missing, blank/],
    [{ form: 'dropped', text: 'a', reason: 'x' }, /not wanted/],
  ])('[UR6] the proposal %j is an error of the same kind', (proposal, message) => {
    const rule = doing(({ messages }) => [
      // Wrong on purpose.
      { block: messages[0]?.blocks[0]?.id, ...proposal } as unknown as RuleProposal,
    ])
    const error = failure(() => project(run, { doing: {} }, { rules: [rule] }))
    expect(error.code).toBe('rule-failed')
    expect(error.message).toMatch(message)
  })

  it('[UR6] a promise is refused, and its rejection ends nothing', () => {
    const error = attempt(async () => {
      throw new Error('later')
    })
    expect(error.message).toContain('must not be async')
  })
})
