// Benchmark corpus: recorded conversations if available, else generated ones, deterministic.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sample } from 'fast-check'
import { type Script, script, writeOpenaiChat } from './oriel.ts'

/** A message of OpenAI's Chat Completions. */
export interface ChatMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content: string | null
  readonly tool_calls?: readonly ChatCall[]
  readonly tool_call_id?: string
}

export interface ChatCall {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface Conversation {
  readonly id: string
  /** Its source. Conversations of one source share what is common to it. */
  readonly source?: string
  readonly messages: readonly ChatMessage[]
}

export interface Corpus {
  /** Name of the corpus, for table headings. */
  readonly name: string
  readonly conversations: readonly Conversation[]
}

/** Recordings are outside the repository, beside it. */
const besideRepository = join(import.meta.dirname, '../../../../shared/data')
const generatedCount = 60
const scriptsPerConversation = 25
const seed = 42

/** All recorded conversations, or enough generated ones for short benchmarks. */
export function readCorpus(folder = besideRepository): Corpus {
  if (!existsSync(folder)) return { name: 'generated conversations', conversations: generated() }
  const files = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  const conversations = files.sort().flatMap((file) => {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n')
    return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Conversation)
  })
  return { name: 'recorded conversations', conversations }
}

/** The texts of a message: its content and call arguments. */
export function textsOf(message: ChatMessage): readonly string[] {
  const calls = message.tool_calls ?? []
  return [message.content ?? '', ...calls.map((call) => call.function.arguments)].filter(
    (text) => text !== '',
  )
}

/** Long conversations, each made of many generated scripts, in the plainest notation. */
function generated(): readonly Conversation[] {
  const scripts = sample(script(), { seed, numRuns: generatedCount * scriptsPerConversation })
  return Array.from({ length: generatedCount }, (_, index) => {
    const from = index * scriptsPerConversation
    // Mix short and long ones.
    const own = scripts.slice(from, from + 1 + (index % scriptsPerConversation))
    // The plainest notation has exactly the fields of a ChatMessage.
    const messages = writeOpenaiChat(plainest(own)) as unknown as readonly ChatMessage[]
    return { id: `generated-${index}`, messages }
  })
}

/**
 * Concatenates scripts, without attachments, unknown fields and unusual shapes, so that every peer
 * accepts them.
 */
function plainest(scripts: readonly Script[]): Script {
  const said = <T extends { readonly text: string }>({ text }: T) =>
    ({ text: text.trim() === '' ? 'ok' : text, shape: 0, attachment: 'none' }) as const
  return {
    ids: 0,
    opening: [{ text: 'You are a careful assistant.', shape: 0, attachment: 'none' }],
    turns: scripts.flatMap(({ turns }) =>
      turns.map((turn) => ({
        user: said(turn.user),
        steps: turn.steps.map((step) => ({
          text: step.text,
          shape: 0 as const,
          isReversed: false,
          calls: step.calls.map((call) => ({
            ...call,
            shape: 0 as const,
            result: { ...said(call.result), isError: false },
          })),
        })),
        reply: { text: turn.reply === undefined ? 'Done.' : turn.reply.text, shape: 0 as const },
      })),
    ),
  }
}
