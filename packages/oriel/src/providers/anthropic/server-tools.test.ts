import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../../core/log/json.ts'
import { project } from '../../project.ts'
import { validate } from '../registry.ts'

const text = (text: string) => ({ type: 'text', text })
const user = (content: string | readonly JsonObject[]) => ({ role: 'user', content })
const assistant = (...content: JsonObject[]) => ({ role: 'assistant', content })
const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const found = { type: 'web_search_tool_result', tool_use_id: 's', content: [] }
const call = { type: 'tool_use', id: 'a', name: 'look', input: {} }
const result = { type: 'tool_result', tool_use_id: 'a', content: 'seen' }

const broken = (messages: readonly object[]): readonly string[] =>
  validate('anthropic', { messages }).map(({ rule }) => rule)

describe('calls of server tools', () => {
  test('[A8] [A9] [A10] have an id of their own and one result', () => {
    const said = (...blocks: JsonObject[]) => [user('x'), assistant(...blocks), user('y')]
    expect(broken(said(search, found))).toEqual([])
    expect(broken(said(search, found, found))).toEqual(['A9'])
    expect(broken(said(search))).toEqual(['A8'])
    expect(broken([...said(search, found), assistant(search, found), user('z')])).toEqual([
      'A10',
      'A8',
    ])
  })

  test('[A8] may wait where the provider goes on with them: at the end, and beside client tools', () => {
    expect(broken([user('x'), assistant(search)])).toEqual([])
    expect(broken([user('x'), assistant(search, call), user([result])])).toEqual([])
  })

  test('[A8] [A9] [A10] are left out where they would be refused, and the trace says so', () => {
    const messages = [
      user('a'),
      assistant(search, found, found, text('b')),
      user('c'),
      assistant(search, found, { ...search, id: 't' }, text('d')),
      user('e'),
    ]
    const view = project<object>(messages, undefined, { format: 'anthropic' })
    expect(view.messages).toEqual([
      user('a'),
      assistant(search, found, text('b')),
      user('c'),
      assistant(text('d')),
      user('e'),
    ])
    expect(view.trace.map(({ index, form, reason }) => `${index} ${form} ${reason}`)).toEqual([
      '1 dropped A9: its call already has a result',
      '3 dropped A10: its id is used twice',
      '3 dropped A8: its call does not come before it',
      '3 dropped A8: has no result',
    ])
  })
})
