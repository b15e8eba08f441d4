// The formats that providers speak; the library knows others, which only frameworks speak.

export const wireFormats = ['openai-chat', 'openai-responses', 'anthropic'] as const
export type WireFormat = (typeof wireFormats)[number]
