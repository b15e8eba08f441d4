// Misplaced messages, contents and blocks for each format.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { FormatName } from '../providers/format.ts'
import {
  aiSdkMessage,
  anthropicMessage,
  chatMessage,
  geminiContent,
  langchainMessage,
  responsesItem,
} from './builders.ts'

interface Strange {
  /** To insert anywhere. */
  readonly messages: readonly JsonObject[]
  /**
   * To replace a message's content; undefined removes it. The message stays valid for its format.
   */
  readonly contents: readonly (Json | undefined)[]
  /** To add to a message's content. */
  readonly blocks: readonly JsonObject[]
}

export const strangeMessages: Readonly<Record<FormatName, Strange>> = {
  'openai-chat': {
    messages: [
      chatMessage.user('a user message in between'),
      chatMessage.system('a second system message'),
      { role: 'developer', content: 'a developer message in between' },
      chatMessage.assistant('an assistant message in between'),
      chatMessage.assistant(''),
      chatMessage.calls({ id: 'call_unanswered' }),
      chatMessage.calls({ id: 'call_twice' }, { id: 'call_twice' }),
      chatMessage.result('call_orphan', 'a result of no call'),
      chatMessage.result('call_1', 'a second result'),
      { role: 'tool', content: 'a result without an id' },
      { role: 'function', name: 'search', content: 'a result of the deprecated kind' },
      { role: 'assistant', content: null },
      { role: 'assistant', content: 'no calls', tool_calls: [] },
      { role: 'assistant', content: null, tool_calls: null },
      { role: 'user', content: null },
      { role: 'user' },
      { role: 'user', content: '  ' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'call_object', function: { name: 'bad name!', arguments: { a: 1 } } }],
      },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'call_1', type: 'custom', custom: { name: 'patch', input: '*** Begin' } },
        ],
      },
      {
        role: 'tool',
        tool_call_id: 'call_1',
        content: [{ type: 'image_url', image_url: { url: 'https://example.com/c.png' } }],
      },
    ],
    contents: ['', ' ', null, [], undefined],
    blocks: [
      { type: 'text', text: '' },
      { type: 'future_part', payload: [1] },
      { type: 'image_url', image_url: { url: 'https://example.com/b.png' } },
      { type: 'image_url', image_url: 'https://example.com/not-an-object.png' },
      { type: 'text' },
      { no: 'type' },
    ],
  },
  anthropic: {
    messages: [
      anthropicMessage.user('a user message in between'),
      anthropicMessage.assistant('an assistant message in between'),
      anthropicMessage.assistant('trailing space '),
      anthropicMessage.calls({ id: 'toolu_unanswered' }),
      anthropicMessage.calls({ id: 'toolu_twice' }, { id: 'toolu_twice' }),
      anthropicMessage.results({ id: 'toolu_orphan', text: 'a result of no call' }),
      anthropicMessage.results({ id: 'toolu_1', text: 'a second result' }),
      { role: 'system', content: 'a system message among the others' },
      { role: 'user', content: [] },
      { role: 'assistant', content: [] },
      { role: 'assistant', content: '' },
      { role: 'assistant', content: [{ type: 'thinking', thinking: 'unsigned' }] },
      { role: 'assistant', content: [{ type: 'redacted_thinking', data: 'alone' }] },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'text before a result' },
          { type: 'tool_result', tool_use_id: 'toolu_1' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool_use', id: 'toolu_first', name: 'search', input: {} },
          { type: 'text', text: 'text after a call' },
        ],
      },
      {
        role: 'assistant',
        content: [{ type: 'web_search_tool_result', tool_use_id: 'srvtoolu_x', content: [] }],
      },
      {
        role: 'assistant',
        content: [{ type: 'server_tool_use', id: 'srvtoolu_y', name: 'web_search', input: {} }],
      },
      {
        role: 'assistant',
        content: [
          { type: 'mcp_tool_use', id: 'mcptoolu_1', name: 'x', server_name: 'y', input: {} },
          { type: 'mcp_tool_result', tool_use_id: 'mcptoolu_1', is_error: false, content: [] },
        ],
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_2',
            content: [
              { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
              { type: 'search_result', source: 'x', title: 'y', content: [] },
            ],
          },
        ],
      },
    ],
    contents: ['', ' ', []],
    blocks: [
      { type: 'text', text: '' },
      { type: 'future_block', payload: [1] },
      { type: 'tool_use', id: 'toolu_misplaced', name: 'search', input: {} },
      { type: 'tool_result', tool_use_id: 'toolu_misplaced', content: 'misplaced' },
      { type: 'thinking', thinking: 'misplaced', signature: 'c2ln' },
      { type: 'image', source: 'not an object' },
      { type: 'text', text: 'marked', cache_control: { type: 'ephemeral' } },
    ],
  },
  'openai-responses': {
    messages: [
      responsesItem.user('a user message in between'),
      responsesItem.system('a second system message'),
      responsesItem.assistant('an assistant message in between'),
      responsesItem.assistant(''),
      responsesItem.call({ id: 'call_unanswered' }),
      responsesItem.call({ id: 'call_1', name: 'bad name!' }),
      responsesItem.result('call_orphan', 'a result of no call'),
      responsesItem.result('call_1', 'a second result'),
      { type: 'reasoning', id: 'rs_alone', summary: [] },
      { type: 'item_reference', id: 'msg_elsewhere' },
      { type: 'future_item', id: 'x_1', payload: {} },
      { role: 'user', content: [] },
      { type: 'function_call', id: 'fc_alone', call_id: 'call_alone', name: 'a', arguments: '{}' },
      { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: '*** Begin' },
      { type: 'custom_tool_call_output', call_id: 'call_orphan', output: 'of no call' },
      { type: 'mcp_approval_request', id: 'mcpr_alone', server_label: 'x', name: 'pay' },
      { type: 'mcp_approval_response', approval_request_id: 'mcpr_orphan', approve: false },
      { type: 'computer_call', id: 'cu_alone', call_id: 'call_screen', action: { type: 'wait' } },
      { type: 'shell_call_output', call_id: 'call_1', output: [{ stdout: 'x', stderr: '' }] },
    ],
    contents: ['', ' ', []],
    blocks: [
      { type: 'input_text', text: '' },
      { type: 'future_part', payload: [1] },
      { type: 'input_image', file_id: 'file-1' },
      { type: 'input_image', image_url: 7 },
      { type: 'input_file' },
    ],
  },
  'ai-sdk': {
    messages: [
      aiSdkMessage.user('a user message in between'),
      aiSdkMessage.system('a second system message'),
      aiSdkMessage.assistant('an assistant message in between'),
      aiSdkMessage.assistant(''),
      aiSdkMessage.calls({ id: 'call_unanswered' }),
      aiSdkMessage.calls({ id: 'call_twice' }, { id: 'call_twice' }),
      aiSdkMessage.results({ id: 'call_orphan', text: 'a result of no call' }),
      aiSdkMessage.results({ id: 'call_1', text: 'a second result' }),
      { role: 'tool', content: [{ type: 'tool-result', output: { type: 'text', value: 'x' } }] },
      { role: 'tool', content: [{ type: 'text', text: 'a text among results' }] },
      { role: 'tool', content: [] },
      { role: 'tool', content: 'a tool message that is a text' },
      { role: 'user', content: [] },
      { role: 'assistant', content: [] },
      { role: 'user' },
      {
        role: 'tool',
        content: [{ type: 'tool-approval-response', approvalId: 'nobody asked', approved: true }],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool-call', toolCallId: 'call_asked', toolName: 'search', input: {} },
          { type: 'tool-approval-request', approvalId: 'ask_1', toolCallId: 'call_asked' },
        ],
      },
      {
        role: 'tool',
        content: [
          { type: 'tool-approval-response', approvalId: 'ask_1', approved: false, reason: 'no' },
        ],
      },
      {
        role: 'assistant',
        content: [
          { type: 'tool-approval-request', approvalId: 'ask_2', toolCallId: 'call_elsewhere' },
        ],
      },
    ],
    contents: ['', ' ', null, [], undefined],
    blocks: [
      { type: 'text', text: '' },
      { type: 'future-part', payload: [1] },
      { type: 'image', image: 'https://example.com/b.png' },
      { type: 'file', data: 'AAAA' },
      { type: 'reasoning', text: 'misplaced' },
      { type: 'tool-call', toolCallId: 'call_misplaced', toolName: 'search', input: {} },
      {
        type: 'tool-result',
        toolCallId: 'call_misplaced',
        toolName: 'search',
        output: { type: 'text', value: 'misplaced' },
      },
      { type: 'text' },
      { no: 'type' },
    ],
  },
  langchain: {
    messages: [
      langchainMessage.user('a user message in between'),
      langchainMessage.system('a second system message'),
      langchainMessage.assistant('an assistant message in between'),
      langchainMessage.assistant(''),
      langchainMessage.calls({ id: 'call_unanswered' }),
      langchainMessage.calls({ id: 'call_twice' }, { id: 'call_twice' }),
      langchainMessage.result('call_orphan', 'a result of no call'),
      langchainMessage.result('call_1', 'a second result'),
      { role: 'tool', content: 'a result without an id' },
      { type: 'human', content: 'written in another way' },
      { type: 'ai', data: { content: 'written in a third way', tool_calls: [] } },
      { type: 'generic', role: 'critic', content: 'someone else' },
      { role: 'user', content: [] },
      { role: 'user' },
      { role: 'assistant', content: null },
    ],
    contents: ['', ' ', null, [], undefined],
    blocks: [
      { type: 'text', text: '' },
      { type: 'future_block', payload: [1] },
      { type: 'image_url', image_url: 'https://example.com/b.png' },
      { type: 'tool_use', id: 'call_misplaced', name: 'search', input: {} },
      { type: 'text' },
      { no: 'type' },
    ],
  },
  gemini: {
    messages: [
      geminiContent.user('a user message in between'),
      geminiContent.model('an answer in between'),
      geminiContent.model(''),
      geminiContent.calls({ id: 'call_unanswered' }),
      geminiContent.calls({ id: 'call_twice' }, { id: 'call_twice' }),
      geminiContent.calls({ id: 'call_1', name: 'bad name!' }),
      geminiContent.results({ id: 'call_orphan', text: 'a response to no call' }),
      geminiContent.results({ id: 'call_1', text: 'a second response' }),
      { role: 'system', parts: [{ text: 'a system text among the others' }] },
      { role: 'function', parts: [{ functionResponse: { name: 'search', response: {} } }] },
      { role: 'user', parts: [] },
      { role: 'model', parts: [] },
      { role: 'model' },
      { parts: [{ text: 'nobody says who' }] },
      { role: 'model', parts: [{ text: 'thinking', thought: true }] },
      { role: 'model', parts: [{ text: ' ', thoughtSignature: 'c2ln' }] },
      { role: 'model', parts: [{ text: 'sealed badly', thoughtSignature: 7 }] },
      {
        role: 'user',
        parts: [
          { text: 'text before a response' },
          { functionResponse: { id: 'call_1', name: 'search', response: { output: 'late' } } },
        ],
      },
      {
        role: 'model',
        parts: [{ functionCall: { name: 'search' } }, { text: 'text after a call' }],
      },
      {
        role: 'model',
        parts: [
          { functionCall: { name: 'search', args: {} }, thoughtSignature: 'c2ln' },
          { functionCall: { name: 'search', args: { again: true } } },
        ],
      },
      { role: 'user', parts: [{ functionResponse: { name: 'search', response: { result: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'other', response: { result: 1 } } }] },
      { role: 'user', parts: [{ functionResponse: { id: 'call_1', response: 'no object' } }] },
      { role: 'model', parts: [{ functionCall: { id: 'call_list', name: 'search', args: [1] } }] },
    ],
    contents: [[], null],
    blocks: [
      { text: '' },
      { futurePart: [1] },
      { functionCall: { id: 'call_misplaced', name: 'search', args: {} } },
      { functionResponse: { id: 'call_misplaced', name: 'search', response: {} } },
      { text: 'misplaced', thought: true, thoughtSignature: 'c2ln' },
      { inlineData: { data: 'AAAA' } },
      { fileData: 'not an object' },
      { text: 'two things', inlineData: { mimeType: 'image/png', data: 'AAAA' } },
      { thought: true },
      {},
    ],
  },
}
