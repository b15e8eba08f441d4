import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/log/json.ts'
import { type ProjectOptions, project } from '../../project.ts'
import { validate } from '../registry.ts'

const format = { format: 'openai-responses' } as const
const user = { role: 'user', content: 'Go on.' }
const long = 'a line of the output '.repeat(40)
const screen = { type: 'computer_screenshot', image_url: 'data:image/png;base64,AAAA' }
const outcome = { type: 'exit', exit_code: 0 }

/** Each call that the client answers, besides functions, with its answer. */
const pairs: Readonly<Record<string, readonly [JsonObject, JsonObject]>> = {
  computer: [
    { type: 'computer_call', id: 'cu_1', call_id: 'c1', action: { type: 'click', x: 1, y: 2 } },
    { type: 'computer_call_output', call_id: 'c1', output: screen },
  ],
  local_shell: [
    { type: 'local_shell_call', id: 'lsh_1', call_id: 'c2', action: { command: ['ls'] } },
    { type: 'local_shell_call_output', call_id: 'c2', output: long },
  ],
  shell: [
    { type: 'shell_call', id: 'sh_1', call_id: 'c3', action: { commands: ['ls'] } },
    {
      type: 'shell_call_output',
      call_id: 'c3',
      output: [{ stdout: long, stderr: 'careful', outcome }],
    },
  ],
  apply_patch: [
    { type: 'apply_patch_call', id: 'ap_1', call_id: 'c4', operation: { type: 'delete_file' } },
    { type: 'apply_patch_call_output', call_id: 'c4', status: 'completed', output: long },
  ],
  mcp_approval: [
    { type: 'mcp_approval_request', id: 'mcpr_1', name: 'pay', arguments: '{}' },
    { type: 'mcp_approval_response', approval_request_id: 'mcpr_1', approve: true },
  ],
}
const rules = (input: readonly object[]): readonly string[] =>
  validate('openai-responses', { input }).map(({ rule, path }) => `${rule} ${path}`)
const shown = (
  input: readonly JsonObject[],
  policy?: Parameters<typeof project>[1],
  options: ProjectOptions = {},
) => project(input, policy, { ...format, ...options })

test('[I5] a screenshot whose call is left out goes on as a picture of the user', () => {
  const [call, answer] = pairs.computer as readonly [JsonObject, JsonObject]
  // The same item twice: neither can be sent, since neither may lose its id.
  const { messages, trace } = shown([user, call, call, answer, user])
  expect(rules(messages)).toEqual([])
  expect(JSON.stringify(messages)).not.toContain('computer')
  expect(JSON.stringify(messages)).toContain(screen.image_url)
  expect(trace).toContainEqual(expect.objectContaining({ index: 3, form: 'full' }))
})

test('[I5] a screenshot beside a function of the same id is shown, and not told of as gone (ORIEL_SEED=293764677)', () => {
  const [call, answer] = pairs.computer as readonly [JsonObject, JsonObject]
  const id = String(call.call_id)
  const other = { type: 'function_call', call_id: id, name: 'search', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: id, output: '' }
  const { messages, trace } = shown([user, call, other, answer, output])
  expect(rules(messages)).toEqual([])
  expect(JSON.stringify(messages)).toContain(screen.image_url)
  expect(trace).toContainEqual(expect.objectContaining({ index: 3, form: 'full' }))
})

test('[I5] a screenshot that answers a function is sent as its picture', () => {
  const [call, answer] = pairs.computer as readonly [JsonObject, JsonObject]
  const id = String(call.call_id)
  const other = { type: 'function_call', call_id: id, name: 'search', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: id, output: 'found' }
  const { messages } = shown([user, call, other, output, answer, user])
  expect(rules(messages)).toEqual([])
  const picture = (answer.output as JsonObject).image_url
  expect(JSON.stringify(messages)).toContain(
    JSON.stringify({ type: 'input_image', image_url: picture }),
  )
})

test('[I6] an approval that must shrink keeps its verdict and gives up its reason', () => {
  const [request, response] = pairs.mcp_approval as readonly [JsonObject, JsonObject]
  const call = { type: 'function_call', call_id: 'f', name: 'search', arguments: '{}' }
  const output = { type: 'function_call_output', call_id: 'f', output: '' }
  const denied = { ...response, approve: false, reason: long }
  const { messages, tokens } = shown([user, request, call, denied, output], undefined, {
    budget: 120,
  })
  expect(messages).toContainEqual({ ...response, approve: false })
  expect(tokens.after).toBeLessThanOrEqual(120)
  expect(rules(messages)).toEqual([])
})

test('an answer that is reduced still says that it failed', () => {
  const policy = { toolResults: { strategy: 'dropAll' } } as const
  const reduced = (call: JsonObject, answer: JsonObject) =>
    shown([user, call, answer, { role: 'assistant', content: 'Done.' }, user], policy).messages[2]
  const [patch, patched] = pairs.apply_patch as readonly [JsonObject, JsonObject]
  expect(reduced(patch, { ...patched, status: 'failed' })).toMatchObject({
    status: 'failed',
    output: expect.stringContaining('[Omitted'),
  })
  const [shell] = pairs.shell as readonly [JsonObject, JsonObject]
  const timeout = { stdout: long, stderr: '', outcome: { type: 'timeout' } }
  const answer = { type: 'shell_call_output', call_id: 'c3', output: [timeout] }
  expect(reduced(shell, answer)).toMatchObject({ output: [{ outcome: { type: 'timeout' } }] })
})

describe.each(Object.entries(pairs))('a call of %s', (name, [call, answer]) => {
  const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
  const whole = [user, reasoning, call, answer, user]

  test('[R1] [R4] [R5] is answered once, by an item behind it', () => {
    expect(rules(whole)).toEqual([])
    expect(rules([user, call, user])).toEqual(['R1 input[1]'])
    expect(rules([user, answer])).toEqual(['R4 input[1]'])
    expect(rules([user, call, answer, answer])).toEqual(['R5 input[3]'])
  })

  test('[R6] comes back as it went in, and is a call to other formats', () => {
    const { messages, trace } = shown(whole)
    expect({ messages, trace }).toEqual({ messages: whole, trace: [] })
    const other = shown(whole, undefined, { to: 'openai-chat' })
    expect(other.messages[1]).toMatchObject({ tool_calls: [{ function: { name } }] })
    expect(other.messages[2]).toMatchObject({ role: 'tool' })
  })

  test('[R1] [R4] is not sent without its answer, nor the answer without it', () => {
    for (const broken of [
      [user, reasoning, call, user],
      [user, answer, user],
      [user, call, answer, answer, user],
      [user, call, answer, user, call, answer, user],
    ]) {
      const { messages, trace } = shown(broken)
      expect(rules(messages)).toEqual([])
      expect(trace).not.toEqual([])
    }
  })

  test('[R6] whose answer is reduced keeps an answer of its own type, or leaves with it', () => {
    const policy = {
      toolResults: { strategy: 'dropAll', placeholder: 'plain', summary: 'off' },
    } as const
    const { messages } = shown([...whole, { role: 'assistant', content: 'Done.' }, user], policy)
    expect(rules(messages)).toEqual([])
    const types = messages.map(({ type }) => type)
    expect(types.includes(call.type)).toBe(types.includes(answer.type))
    expect(JSON.stringify(messages)).not.toContain('a line of the output')
    if (name === 'mcp_approval') expect(messages).toContainEqual(answer)
    else expect(JSON.stringify(messages)).toContain('[Omitted]')
  })
})
