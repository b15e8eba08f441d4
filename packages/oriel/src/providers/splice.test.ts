import { describe, expect, it } from 'vitest'
import { sumUsage } from './splice.ts'

describe('sumUsage', () => {
  it('[GX2] adds numbers at every depth, joins lists, and keeps what only one side has', () => {
    const sum = sumUsage(
      {
        ...{ input_tokens: 10, output_tokens: 1, service_tier: 'standard', speed: null },
        ...{ cache_creation_input_tokens: 5, cache_read_input_tokens: null },
        cache_creation: { ephemeral_5m_input_tokens: 3, ephemeral_1h_input_tokens: 2 },
        server_tool_use: { web_search_requests: 1 },
        iterations: [{ type: 'message', input_tokens: 10 }],
      },
      {
        ...{ input_tokens: 20, output_tokens: 2, service_tier: 'priority' },
        ...{ cache_creation_input_tokens: 0, cache_read_input_tokens: 40 },
        cache_creation: { ephemeral_5m_input_tokens: 7, ephemeral_1h_input_tokens: 0 },
        output_tokens_details: { thinking_tokens: 4 },
        iterations: [{ type: 'message', input_tokens: 20 }],
      },
    )
    expect(sum).toEqual({
      ...{ input_tokens: 30, output_tokens: 3, service_tier: 'priority', speed: null },
      ...{ cache_creation_input_tokens: 5, cache_read_input_tokens: 40 },
      cache_creation: { ephemeral_5m_input_tokens: 10, ephemeral_1h_input_tokens: 2 },
      server_tool_use: { web_search_requests: 1 },
      output_tokens_details: { thinking_tokens: 4 },
      iterations: [
        { type: 'message', input_tokens: 10 },
        { type: 'message', input_tokens: 20 },
      ],
    })
  })
})
