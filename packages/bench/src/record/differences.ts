// Lists how clients alter answers and results when they resend them: `npm run differences [part of
// a name]`.

import { readdirSync, readFileSync } from 'node:fs'
import type { Fixture } from './fixture.ts'
import { fixtureFolder } from './fixture.ts'
import { frameOf } from './match/unit.ts'
import type { Piece } from './pieces.ts'
import { replyPieces, requestPieces } from './pieces.ts'

const wanted = process.argv[2] ?? ''

for (const file of readdirSync(fixtureFolder).filter((name) => name.includes(wanted))) {
  const fixture = JSON.parse(readFileSync(`${fixtureFolder}${file}`, 'utf8')) as Fixture
  const found = new Map<string, string>()
  for (const [index, truth] of fixture.expected.entries()) {
    if (truth.type !== 'extends' && truth.type !== 'retry') continue
    for (const [what, example] of differences(fixture, truth.of, index)) {
      if (!found.has(what)) found.set(what, example)
    }
  }
  console.log(`${file} (${fixture.client} ${fixture.version})`)
  for (const [what, example] of [...found].sort()) console.log(`  ${what}  ${example}`)
}

/** The diff between a request with its answer and the request that continues it. */
function differences(
  { format, requests }: Fixture,
  before: number,
  after: number,
): readonly (readonly [what: string, example: string])[] {
  const [earlier, later] = [requests[before], requests[after]]
  if (earlier === undefined || later === undefined) return []
  const result: [string, string][] = []
  const [old, now] = [frameOf(earlier.body), frameOf(later.body)]
  if (old.system !== now.system) result.push(['frame: system changed', ''])
  if (old.tools.join() !== now.tools.join()) result.push(['frame: tools changed', ''])
  const sent = requestPieces(format, later.body)
  const isAnswered = earlier.reply.status === 200 && earlier.reply.isCut !== true
  const expected: readonly (readonly [string, readonly Piece[]])[] = [
    ['history', requestPieces(format, earlier.body)],
    ['answer', isAnswered ? replyPieces(format, earlier.reply.body) : []],
  ]
  for (const [origin, pieces] of expected) {
    for (const piece of pieces) {
      const twin = sent.find(({ kind, id }) => kind === piece.kind && id === piece.id)
      if (twin === undefined) result.push([`${origin}: ${piece.kind} gone`, clip(piece.value)])
      else compare(piece.value, twin.value, `${origin}: ${piece.kind}`, result)
    }
  }
  return result
}

function compare(old: unknown, now: unknown, path: string, result: [string, string][]): void {
  if (JSON.stringify(old) === JSON.stringify(now)) return
  if (!isRecord(old) || !isRecord(now)) {
    result.push([`${path} changed`, `${clip(old)} -> ${clip(now)}`])
    return
  }
  for (const key of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (!(key in now)) result.push([`${path}.${key} removed`, clip(old[key])])
    else if (!(key in old)) result.push([`${path}.${key} added`, clip(now[key])])
    else compare(old[key], now[key], `${path}.${key}`, result)
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function clip(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length <= 90 ? text : `${text.slice(0, 60)} ... ${text.slice(-25)}`
}
