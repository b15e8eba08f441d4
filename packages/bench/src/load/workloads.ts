// Load test cases compared with direct calls.

import type { Workload } from './sessions.ts'

export interface PairedCase {
  readonly workload: Workload
  readonly rate: number
  /** Requests before anything counts, and their rate. @default twice the rate that is measured */
  readonly warmRequests: number
  readonly warmRate?: number
  readonly hasBursts?: boolean
  /** Portkey's gateway speaks this format with an OpenAI upstream. */
  readonly hasPortkey: boolean
}

const kilobyte = 1000

const small: Omit<Workload, 'name'> = {
  bodyBytes: 2 * kilobyte,
  turns: 4,
  format: 'chat',
  isStream: false,
}
const large: Omit<Workload, 'name'> = { ...small, bodyBytes: 400 * kilobyte, turns: 400 }

export const pairedCases: Readonly<Record<string, PairedCase>> = {
  small: {
    workload: { ...small, name: '2 KB, conversations of four turns' },
    rate: 100,
    // V8 keeps optimizing code that runs once per request for about this long.
    warmRequests: 12_000,
    warmRate: 300,
    hasPortkey: true,
  },
  new: {
    workload: { ...small, name: '2 KB, each request a new conversation', turns: 1 },
    rate: 100,
    warmRequests: 2000,
    hasPortkey: true,
  },
  bursts: {
    workload: { ...small, name: '2 KB, conversations of four turns, in bursts' },
    rate: 100,
    warmRequests: 1000,
    hasBursts: true,
    hasPortkey: true,
  },
  stream: {
    workload: { ...small, name: '2 KB, streamed', isStream: true },
    rate: 50,
    warmRequests: 1000,
    hasPortkey: true,
  },
  large: {
    workload: { ...large, name: '400 KB, long conversations that resend everything' },
    rate: 10,
    warmRequests: 300,
    hasPortkey: true,
  },
  'large-new': {
    workload: { ...large, name: '400 KB, each request a new conversation', turns: 1 },
    rate: 4,
    warmRequests: 40,
    hasPortkey: true,
  },
  'large-stream': {
    workload: { ...large, name: '400 KB, long conversations, streamed', isStream: true },
    rate: 10,
    warmRequests: 60,
    hasPortkey: true,
  },
  responses: {
    workload: { ...small, name: '2 KB, Responses', format: 'responses' },
    rate: 100,
    warmRequests: 1000,
    hasPortkey: false,
  },
  messages: {
    workload: { ...small, name: '2 KB, Anthropic messages', format: 'messages' },
    rate: 100,
    warmRequests: 1000,
    hasPortkey: false,
  },
}
