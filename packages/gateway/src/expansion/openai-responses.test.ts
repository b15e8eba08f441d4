import { describe, expect, it } from 'vitest'
import { responsesExpansion } from './openai-responses.ts'

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [] }
const call = { type: 'function_call', call_id: 'c', name: 'expand_message', arguments: '{}' }

describe('what of a round is shown to the model again', () => {
  const { replayed = (messages) => messages } = responsesExpansion
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

describe('the text of an answer', () => {
  const tool = '{ "type":"function", "name":"expand_message" }'
  const clean = (text: string): string =>
    responsesExpansion.clean?.(text, { name: 'expand_message', isOpen: true, isQuiet: false }) ?? ''

  it('[GX1] loses the tool and nothing else', () => {
    const own = '{"name":"read" , "type":"function"}'
    const text = `{ "id":"r", "tools": [ ${own}, ${tool} ] ,"output":[{"tools":[${tool}]}] }`
    expect(clean(text)).toBe(`{ "id":"r", "tools": [${own}] ,"output":[{"tools":[${tool}]}] }`)
    expect(clean('{"id":"r"}')).toBe('{"id":"r"}')
    expect(clean('{"tools":null}')).toBe('{"tools":null}')
  })
})
