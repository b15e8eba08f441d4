import { describe, expect, it } from 'vitest'
import { parsePolicy } from '../../policy/schema.ts'
import { providers } from '../../providers/registry.ts'
import type { ToolsSettings } from '../../rules/tools.ts'
import { type Deferral, deferralOf, type ShownTools } from './deferral.ts'

const format = providers['openai-chat'].tools

function tool(name: string, description: string, properties: readonly string[] = ['id']) {
  const schema = { type: 'string', description: `The ${name} of it, as a text of any length.` }
  const entries = properties.map((key) => [key, schema] as const)
  const parameters = { type: 'object', properties: Object.fromEntries(entries) }
  return format.define({
    name,
    description: `${description} ${'It is slow. '.repeat(20)}`,
    parameters,
  })
}

const list = [
  tool('github__create_issue', 'Opens an issue in a repository.', ['title', 'body']),
  tool('github__merge_pull_request', 'Merges a pull request.', ['method']),
  tool('slack__post_message', 'Says something in a channel.', ['channel', 'text']),
  tool('read_file', 'Reads a file of the disk.', ['path']),
  tool('write_file', 'Writes a file to the disk.', ['path', 'content']),
]

interface Around {
  readonly settings?: ToolsSettings
  readonly known?: ShownTools
  readonly used?: readonly string[]
}

function defer({ settings = {}, known, used = [] }: Around = {}): Deferral {
  const asked = { format, list, settings: { mode: 'deferred' as const, ...settings }, known, used }
  const found = deferralOf(asked)
  if (found === undefined) throw new Error('Nothing is deferred')
  return found
}

const names = ({ tools }: Deferral): readonly string[] => format.names(tools)

describe('deferred tool definitions', () => {
  it.each([
    ['open a new issue', 'github__create_issue'],
    ['post to a channel', 'slack__post_message'],
    ['merge pull requests', 'github__merge_pull_request'],
    ['title', 'github__create_issue'],
    ['{"query":"write a file"}', 'write_file'],
  ])('[TD8] %s is found', (query, name) => {
    expect(defer().find(query).names[0]).toBe(name)
  })

  it('[TD8] tools that the query names come alone, in whatever words it has', () => {
    const found = defer().find({ query: 'read_file, write_file and their file friends' })
    expect(found.names).toEqual(['read_file', 'write_file'])
    expect(found.text).toContain('Added to your tools')
    expect(defer().with(found.names).find({ query: 'read_file' })).toEqual({
      text: 'These are in your list already; call them directly:\n- read_file: Reads a file of the disk.',
      names: [],
    })
  })

  it.each([[undefined], [null], [7], ['{'], [{}], [{ query: 3 }], [{ query: ' ' }], ['zzzz qqqq']])(
    '[TD8] %j finds nothing and says so',
    (input) => {
      const found = defer().find(input)
      expect(found.names).toEqual([])
      expect(found.text).toMatch(/^Not found: /)
    },
  )

  it('[TD2] what was listed stays in its order, and the search says the same', () => {
    const first = defer()
    expect(names(first)).toEqual(['find_tool'])
    const next = first.with(['write_file']).with(['read_file', 'nobody'])
    expect(names(next)).toEqual(['find_tool', 'write_file', 'read_file'])
    const later = defer({ known: next.shown, used: ['github__create_issue'] })
    expect(later.tools.slice(0, 3)).toEqual(next.tools)
    expect(names(later).at(-1)).toBe('github__create_issue')
    expect(later.count).toBe(2)
  })

  it('[TD6] another tool of its name, or two of one name, leave the list as it is', () => {
    const settings = { mode: 'deferred' } as const
    const own = format.define({ name: 'find_tool', description: '', parameters: {} })
    const taken = deferralOf({ format, list: [...list, own], settings, used: [] })
    expect(taken && names(taken)).toEqual(['oriel_find_tool'])
    expect(
      deferralOf({ format, list: [...list, list[0] ?? null], settings, used: [] }),
    ).toBeUndefined()
  })

  it('[TD6] the part may be written as its mode alone', () => {
    expect(parsePolicy({ tools: 'deferred' })).toEqual({ tools: { mode: 'deferred' } })
    expect(() => parsePolicy({ tools: 'off' })).toThrow(
      "policy.tools.mode: got 'off', allowed: auto, deferred",
    )
  })
})
