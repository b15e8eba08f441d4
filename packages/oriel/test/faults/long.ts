// The long run of faults: kills a writing process again and again, at random moments and at every named point, and checks the
// store after each. `npx node packages/oriel/test/faults/long.ts --kills 500 [--seed 1]`. Ends with 1 on the first violation.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Acknowledged, ChildOptions } from './harness.ts'
import {
  countAcknowledged,
  createAcknowledged,
  filesWithErased,
  runChild,
  violations,
  withDirectory,
} from './harness.ts'
import { choose, createRandom, integer, seed as newSeed } from './random.ts'

/** A store is given up for a fresh one after this many kills: a young file has other faults than an old one. */
const killsPerStore = 25

const points = [
  'begin',
  'before-commit',
  'after-commit',
  'before-acknowledge',
  'erase:before-rewrite',
  'erase:after-rewrite',
  'erase:before-confirm',
]

const { values } = parseArgs({ options: { kills: { type: 'string' }, seed: { type: 'string' } } })
const kills = Number(values.kills ?? 500)
const seed = Number(values.seed ?? newSeed)
if (!Number.isSafeInteger(kills) || kills < 1)
  throw new Error('--kills must be a number of at least 1')

const random = createRandom(seed)
console.log(`ORIEL_SEED=${seed}, ${kills} kills`)
let done = 0
let acknowledgedCount = 0
while (done < kills) {
  const failed = await withDirectory((directory) => killOneStore(directory))
  if (failed) process.exit(1)
}
console.log(`${done} kills, ${acknowledgedCount} acknowledged entries, no violation`)

/** Kills writers of one store; true when something that was promised does not hold. */
async function killOneStore(directory: string): Promise<boolean> {
  const path = join(directory, 'store.db')
  const acknowledged = createAcknowledged()
  for (let turn = 0; turn < killsPerStore && done < kills; turn++) {
    const fault = chooseFault(path)
    await Promise.all(fault.map((options) => runChild(options, acknowledged)))
    done++
    const found = await check(path, directory, acknowledged)
    if (found.length === 0) continue
    console.error(`VIOLATION after kill ${done} with ${JSON.stringify(fault)}`)
    for (const line of found) console.error(`  ${line}`)
    return true
  }
  acknowledgedCount += countAcknowledged(acknowledged)
  console.log(`${done} of ${kills} kills, ${acknowledgedCount} acknowledged entries so far`)
  return false
}

/** One or two processes, at least one of which is going to be killed. */
function chooseFault(path: string): ChildOptions[] {
  const own = (): number => integer(random, [1, 2 ** 30])
  const kind = random()
  const writes = choose(random, ['auto', 'worker'] as const)
  if (kind < 0.4) return [{ path, seed: own(), writes, killAfterLines: integer(random, [1, 1500]) }]
  const point = choose(random, points)
  const mode = point.startsWith('erase')
    ? 'erase'
    : choose(random, ['append', 'race', 'erase'] as const)
  const fault = `${point}:${integer(random, [1, 6])}:kill`
  const victim = { path, seed: own(), mode, writes, fault }
  return kind < 0.85 ? [victim] : [victim, { path, seed: own(), mode: 'race' }]
}

async function check(
  path: string,
  directory: string,
  acknowledged: Acknowledged,
): Promise<string[]> {
  const found = await violations(path, acknowledged)
  const holding = filesWithErased(directory, acknowledged)
  return [...found, ...holding.map((name) => `${name} holds erased content`)]
}
