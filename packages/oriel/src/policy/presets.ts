// Ready policies: five that behave like other systems, with their timing and defaults, and the one we recommend.

/**
 * - `plugin-retention`: plugin context that fades block by block
 * - `turn-expiry`: tool results compacted after two steps
 * - `history-window`: the last twenty user turns
 * - `compaction`: bounded tool output, summaries in place, checkpoints
 * - `placeholders`: at most fifty messages, old tool results as `[Omitted]`
 * - `recommended`: bounded tool output, without lines that were shown before; a long conversation is folded, when that saves money, into a checkpoint with a memory of facts
 */
export const presets = {
  'plugin-retention': { retention: {} },
  'turn-expiry': {
    expiry: {
      tools: { '*': { after: 2, mode: 'compact', compact: 'first-chars', length: 500 } },
    },
  },
  'history-window': { history: {} },
  compaction: { toolOutput: {}, toolResults: {}, compaction: {} },
  placeholders: {
    history: { policy: 'all', maxMessages: 50, keepRecentMessages: 5 },
    toolResults: { strategy: 'keepRecent', max: 4, placeholder: 'plain', cutoff: 0 },
  },
  recommended: {
    toolOutput: {},
    deduplication: {},
    compaction: { maxTokens: 0, maxMessages: 0 },
    memory: {},
    schedule: 'cache-aware',
  },
} as const
