// Ready policies: the five source systems with their own timing and defaults, and the one we recommend.

/**
 * - `plugin-retention`: plugin context that fades block by block (document 000)
 * - `turn-expiry`: tool results compacted after two steps (document 001)
 * - `history-window`: the last twenty user turns (document 002)
 * - `compaction`: bounded tool output, summaries in place, checkpoints (document 003)
 * - `placeholders`: at most fifty messages, old tool results as `[Omitted]` (document 004)
 * - `recommended`: bounded tool output, without lines that were shown before; a conversation that grows long is folded, when that pays, into a checkpoint with a memory of facts
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
