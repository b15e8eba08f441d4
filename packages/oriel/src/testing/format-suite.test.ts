import { anthropic } from '../formats/anthropic.ts'
import { openaiChat } from '../formats/openai-chat.ts'
import { openaiResponses } from '../formats/openai-responses.ts'
import {
  anthropicConversation,
  openaiChatConversation,
  openaiResponsesConversation,
} from './arbitraries.ts'
import { describeFormat } from './format-suite.ts'

describeFormat(openaiChat, openaiChatConversation())
describeFormat(anthropic, anthropicConversation())
describeFormat(openaiResponses, openaiResponsesConversation())
