// Recordings for replay, read from transcript files and directories.

import { basename } from 'node:path'
import { decode, type FormatName, OrielError } from 'oriel'
import type { Recording } from 'oriel/simulate'
import type { Conversation } from '../transcript/conversation.ts'
import { readTranscripts } from '../transcript/read.ts'
import { timeOf } from '../transcript/time.ts'

export interface ReadRecordingsOptions {
  readonly format?: FormatName | undefined
  readonly stdin: AsyncIterable<Uint8Array>
  readonly onNote: (note: string) => void
}

/**
 * All conversations of the files. Skips those that cannot be replayed, with a note; throws if none
 * is left.
 */
export async function readRecordings(
  files: readonly string[],
  { format, stdin, onNote }: ReadRecordingsOptions,
): Promise<readonly Recording[]> {
  const recordings: Recording[] = []
  const names = new Set<string>()
  const conversations = readTranscripts(files, {
    format,
    stdin,
    onNote: ({ file, text }) => onNote(`${file}: ${text}`),
  })
  for await (const conversation of conversations) {
    const problem = problemOf(conversation)
    if (problem === undefined) recordings.push(toRecording(conversation, names))
    else onNote(`conversation #${conversation.number} was left out: ${problem}`)
  }
  if (recordings.length > 0) return recordings
  throw new OrielError(
    'invalid-input',
    'No conversation to replay: each needs messages up to at least one answer of the model.',
  )
}

/** A conversation for replay; undefined where it cannot be replayed. */
export function recordingOf(conversation: Conversation): Recording | undefined {
  return problemOf(conversation) === undefined ? toRecording(conversation, new Set()) : undefined
}

/** Why a conversation cannot be replayed. */
function problemOf({ messages, detection }: Conversation): string | undefined {
  try {
    const drafts = decode(detection.format, messages)
    return drafts.some(({ draft }) => draft.role === 'assistant') ? undefined : 'no model answered'
  } catch (error) {
    if (OrielError.is(error)) return error.message
    throw error
  }
}

function toRecording(conversation: Conversation, names: Set<string>): Recording {
  const { messages, detection, frame, file, body } = conversation
  const { source } = body
  let id = conversation.id ?? `${basename(file)} #${conversation.number}`
  if (names.has(id)) id = `${id} #${conversation.number}`
  names.add(id)
  const times = messages.map(timeOf)
  return {
    id,
    source: typeof source === 'string' ? source : basename(file),
    format: detection.format,
    messages,
    ...(Object.keys(frame).length === 0 ? {} : { frame }),
    ...(times.some((time) => time !== undefined) ? { times } : {}),
  }
}
