import { it } from 'vitest'
import { formatNamed } from '../src/formats/registry.ts'
it('probe', async () => {
  const out = (...x: unknown[]) => console.log(...x.map((v) => JSON.stringify(v)))
  const fc = (id: string) => ({ type: 'function_call', call_id: id, name: 'f', arguments: '{}' })
  const fo = (id: string) => ({ type: 'function_call_output', call_id: id, output: 'r' + id })
  out(formatNamed('openai-responses').decode([{ role: 'system', content: 'S' }, { role: 'user', content: 'q' }, { role: 'assistant', content: 'text' }, fc('a'), fc('b'), fo('a'), fo('b'), { role: 'assistant', content: 'text' }], 'm'))
  out(formatNamed('anthropic').decode([{ role: 'user', content: 'q' }, { role: 'assistant', content: [{ type: 'text', text: 't' }, { type: 'tool_use', id: 'a', name: 'f', input: { x: 1 } }] }, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'r' }, { type: 'tool_result', tool_use_id: 'b', content: 'r' }] }], 'm'))
  out(formatNamed('openai-chat').decode([{ id: 'm1', role: 'user', content: 'q' }], 'm'))
  try { out(formatNamed('anthropic').decode([{ role: 'system', content: 'q' }], 'm')) } catch (e) { out(String(e)) }
})
