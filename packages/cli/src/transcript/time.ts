// Message timestamps, from the message's own fields or from its session log line.

import { type Fields, isFields } from './detect.ts'

/** Fields in which loggers store the time of a message. */
const timeFields = ['timestamp', 'created_at', 'createdAt', 'time', 'at'] as const

/** Symbol key for a line's time on its message: invisible to formats and JSON. */
const lineTime = Symbol('lineTime')

/** The message of a line, with the line's time. */
export function withLineTime(message: Fields, line: Fields): Fields {
  const time = ownTime(line)
  return time === undefined ? message : { ...message, [lineTime]: time }
}

/** Milliseconds since the epoch; undefined if unknown. */
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
