import { providers } from 'oriel/providers'
import { describe, expect, it } from 'vitest'
import { withoutEchoes } from './splice.ts'

describe('the text of an answer', () => {
  const tool = '{ "type":"function", "name":"expand_message" }'
  const clean = (text: string): string =>
    withoutEchoes(
      text,
      providers['openai-responses'].tools.echoes?.({
        ...{ names: ['expand_message'], isOpen: true, isQuiet: false },
      }) ?? { lists: {}, values: {} },
    )

  it('[GX1] loses the tool and nothing else', () => {
    const own = '{"name":"read" , "type":"function"}'
    const text = `{ "id":"r", "tools": [ ${own}, ${tool} ] ,"output":[{"tools":[${tool}]}] }`
    expect(clean(text)).toBe(`{ "id":"r", "tools": [${own}] ,"output":[{"tools":[${tool}]}] }`)
    expect(clean('{"id":"r"}')).toBe('{"id":"r"}')
    expect(clean('{"tools":null}')).toBe('{"tools":null}')
  })
})
