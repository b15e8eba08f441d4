// Recorded conversations for tests: a small set in this repository, and, if present, the large set
// in ../shared/data, which is not part of the project. Tests run over both, and report if the large
// set is absent.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, it } from 'vitest'

export interface RecordedConversation {
  readonly id: string
  /** In the format of OpenAI's Chat Completions. */
  readonly messages: readonly RecordedMessage[]
}

export interface RecordedMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool'
  readonly content?: string | null
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly name: string; readonly arguments: string }
  }[]
  readonly tool_call_id?: string
}

export interface RecordedSet {
  readonly files: readonly RecordedFile[]
}

export interface RecordedFile {
  readonly name: string
  readonly path: string
  /** Loads the file. */
  conversations(): readonly RecordedConversation[]
}

const small = join(import.meta.dirname, '../packages/oriel/test/fixtures/conversations')
const large = join(import.meta.dirname, '../../shared/data')

/** Declares the tests once for each set, or a skipped test with the reason. */
export function describeRecorded(title: string, declare: (set: RecordedSet) => void): void {
  describe(`${title}, small set`, () => declare({ files: filesIn(small) }))
  describe(`${title}, large set`, () => {
    if (existsSync(large)) declare({ files: filesIn(large) })
    else it('needs ../shared/data', (test) => test.skip(`there is no folder ${large}`))
  })
}

function filesIn(folder: string): readonly RecordedFile[] {
  const names = readdirSync(folder).filter((name) => name.endsWith('.jsonl'))
  if (names.length === 0) throw new Error(`There is no .jsonl file in ${folder}.`)
  return names.map((name) => {
    const path = join(folder, name)
    return { name, path, conversations: () => read(path) }
  })
}

function read(path: string): readonly RecordedConversation[] {
  const lines = readFileSync(path, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as RecordedConversation)
}
