// A script as Gemini's contents: responses inside contents of the user, roles alternating, the user's side last.

import type { Json, JsonObject } from '../core/log/json.ts'
import type { Attachment, Reply, Said, Script, ScriptCall, Step } from './script.ts'
import { createIds, data, pick } from './writing.ts'

export function writeGemini(script: Script): readonly JsonObject[] {
  const nextId = createIds(script.ids, ['call_', '', 'fc-', 'x'])
  const pieces: Piece[] = script.turns.flatMap((turn) => [
    ...(turn.notice === undefined ? [] : [userPiece(turn.notice)]),
    userPiece(turn.user),
    ...turn.steps.flatMap((step) => exchange(step, () => idsOf(script.ids, nextId()))),
    ...(turn.reply === undefined ? [] : [replyPiece(turn.reply)]),
  ])
  const contents = merge(pieces)
  // The conversation must end with the user's side.
  const ended = contents.at(-1)?.role === 'model' ? contents.slice(0, -1) : contents
  return ended.map(({ role, parts, fields }) => ({ role, parts, ...fields }))
}

interface Piece {
  readonly role: 'user' | 'model'
  readonly parts: readonly JsonObject[]
  readonly fields: JsonObject
}

/** Neighbours of one role are one content. */
function merge(pieces: readonly Piece[]): readonly Piece[] {
  const merged: Piece[] = []
  for (const piece of pieces) {
    const last = merged.at(-1)
    if (last?.role !== piece.role) merged.push(piece)
    else {
      const parts = [...last.parts, ...piece.parts]
      merged[merged.length - 1] = { ...piece, parts, fields: { ...last.fields, ...piece.fields } }
    }
  }
  return merged
}

interface Ids {
  readonly call: JsonObject
  readonly response: JsonObject
}

/** Ids on both sides, on neither, or on one of them: models and clients differ. */
function idsOf(style: number, id: string): Ids {
  const ways: readonly Ids[] = [
    { call: { id }, response: { id } },
    { call: {}, response: {} },
    { call: { id }, response: {} },
    { call: {}, response: { id } },
  ]
  return ways[style % ways.length] as Ids
}

function userPiece({ text, shape, attachment, fields }: Said): Piece {
  const part = { text, ...(shape === 2 && fields !== undefined ? { x: fields } : {}) }
  const attached = attachment === 'none' ? [] : [attachedPart(attachment)]
  return {
    role: 'user',
    parts: shape === 3 ? [...attached, part] : [part, ...attached],
    fields: fields === undefined ? {} : { x_user: fields },
  }
}

function attachedPart(attachment: Attachment): JsonObject {
  switch (attachment) {
    case 'image-url':
      return { fileData: { mimeType: 'image/png', fileUri: 'https://example.com/a.png' } }
    case 'image-data':
      return { inlineData: { mimeType: 'image/png', data }, mediaResolution: { level: 'LOW' } }
    case 'file-data':
      return { inlineData: { mimeType: 'application/pdf', data, displayName: 'a.pdf' } }
    case 'file-url':
      return { fileData: { fileUri: 'https://example.com/a' }, videoMetadata: { fps: 1 } }
    default:
      return { futureData: { data } }
  }
}

function exchange(step: Step, nextIds: () => Ids): readonly Piece[] {
  const calls = step.calls.map((call) => ({ call, ids: nextIds() }))
  const responses = calls.map(({ call, ids }) => responsePart(call, ids))
  const text = step.text.trim() === '' ? [] : [{ text: step.text }]
  const sealed = step.shape === 1 || step.shape === 2 ? { thoughtSignature: data } : {}
  return [
    {
      role: 'model',
      parts: [
        ...thought(step),
        ...text,
        // The first call carries the signature for all.
        ...calls.map(({ call, ids }, index) => callPart(call, ids, index === 0 ? sealed : {})),
      ],
      fields: step.fields === undefined ? {} : { x_assistant: step.fields },
    },
    { role: 'user', parts: step.isReversed ? responses.reverse() : responses, fields: {} },
  ]
}

function thought({ reasoning, shape }: Step | Reply): readonly JsonObject[] {
  if (reasoning === undefined) return []
  const plain = { text: reasoning, thought: true }
  return pick<readonly JsonObject[]>(shape, [
    [plain],
    [{ ...plain, thoughtSignature: data }],
    [{ thought: true, thoughtSignature: data }],
    [plain, { text: '', thoughtSignature: data }],
  ])
}

function callPart({ name, input, shape }: ScriptCall, { call }: Ids, sealed: JsonObject) {
  const plain = { ...call, name, args: input }
  const functionCall = pick<JsonObject>(shape, [
    plain,
    { ...call, name },
    { ...plain, willContinue: false },
  ])
  return { functionCall, ...sealed, ...(shape === 3 ? { partMetadata: { source: 'a' } } : {}) }
}

function responsePart({ name, result }: ScriptCall, { response }: Ids): JsonObject {
  const { text, shape, isError, attachment } = result
  const said = pick<JsonObject>(shape, [
    isError ? { error: text } : { output: text },
    { result: text },
    { output: { text, lines: [1, 2] }, ok: !isError },
    {},
    { output: text, error: null },
  ])
  const parts: Json = attachment === 'none' ? [] : [attachedPart(attachment)]
  const attached = attachment === 'none' && shape !== 1 ? {} : { parts }
  const scheduled = shape === 2 ? { scheduling: 'WHEN_IDLE' } : {}
  return { functionResponse: { ...response, name, response: said, ...attached, ...scheduled } }
}

function replyPiece(reply: Reply): Piece {
  const { text, shape, fields } = reply
  const parts = pick<readonly JsonObject[]>(shape, [
    [{ text }],
    [{ text, thoughtSignature: data }],
    [
      { executableCode: { language: 'PYTHON', code: 'print(1)' } },
      { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '1\n' } },
      { text },
    ],
    [{ text }, { inlineData: { mimeType: 'image/png', data } }],
    [{ text }, { text: 'And one more.' }, { text: '', thoughtSignature: data }],
  ])
  return {
    role: 'model',
    parts: [...thought(reply), ...parts],
    fields: fields === undefined ? {} : { x_assistant: fields },
  }
}
