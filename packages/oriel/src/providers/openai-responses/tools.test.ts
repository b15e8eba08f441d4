import { describe, expect, it } from 'vitest'
import { tools } from './tools.ts'

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
const call = { type: 'function_call', call_id: 'c', name: 'expand_message', arguments: '{}' }

describe('what of a round is shown to the model again', () => {
  const { replayed = (messages) => messages } = tools
  const round = [reasoning, { ...call, id: 'fc_1' }]

  it('[GX3] is all of it where the provider keeps it, or sealed it', () => {
    expect(replayed(round, {})).toBe(round)
    const sealed = [{ ...reasoning, encrypted_content: 'x' }, round[1] ?? null]
    expect(replayed(sealed, { store: false })).toBe(sealed)
  })

  it('[GX3] is nothing that the provider has forgotten, and no id that depends on it', () => {
    expect(replayed(round, { store: false })).toEqual([call])
  })
})
