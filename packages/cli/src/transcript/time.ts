// When a message was made: from its own fields, or from the line of a session log that holds it.

import { type Fields, isFields } from './detect.ts'

/** Fields in which loggers keep the time of a message. */
const timeFields = ['timestamp', 'created_at', 'createdAt', 'time', 'at'] as const

/** Keeps a line's time beside the message in it, under a symbol: no format reads it, no JSON shows it. */
const lineTime = Symbol('lineTime')

/** The message of a line, with the line's time. */
export function withLineTime(message: Fields, line: Fields): Fields {
  const time = ownTime(line)
  return time === undefined ? message : { ...message, [lineTime]: time }
}

/** Milliseconds since 1970; undefined where nothing tells. */
export function timeOf(message: unknown): number | undefined {
  if (!isFields(message)) return undefined
  return ownTime(message) ?? (message as { readonly [lineTime]?: number })[lineTime]
}

function ownTime(fields: Fields): number | undefined {
  for (const field of timeFields) {
    const time = readTime(fields[field])
    if (time !== undefined) return time
  }
  return undefined
}

/** A date, or a number of seconds or milliseconds. */
function readTime(value: unknown): number | undefined {
  if (typeof value === 'string') {
    const time = Date.parse(value)
    return Number.isNaN(time) ? undefined : time
  }
  if (typeof value !== 'number' || !Number.isFinite(value) || value <= 0) return undefined
  return value < 1e11 ? value * 1000 : value
}
