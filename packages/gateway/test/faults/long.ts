// The long run of kills against the gateway: six clients talk while the process is killed again and again, at random moments and at named
// points of the store. `npx node --import ./scripts/sources.ts packages/gateway/test/faults/long.ts --kills 200 [--seed 1]
// [--postgres | --here]`; with --postgres on a server of its own, durable as one in production, with --here without processes: several times as
// many deaths in the same time, none of them the system's. Ends with 1 on the first violation.

import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startPostgres } from '../../../../scripts/postgres.ts'
import { withDirectory } from '../../../oriel/test/faults/harness.ts'
import {
  choose,
  createRandom,
  integer,
  seed as newSeed,
} from '../../../oriel/test/faults/random.ts'
import { doctor, type Life, Scene } from './kill-harness.ts'
import { deaths, ShortLives } from './short-lives.ts'

/** A store is given up for a fresh one after this many kills. */
const killsPerStore = 20
/** The conversations must grow long enough to be folded. */
const deathsPerStore = 50

const { values } = parseArgs({
  options: {
    kills: { type: 'string' },
    seed: { type: 'string' },
    postgres: { type: 'boolean', default: false },
    here: { type: 'boolean', default: false },
  },
})
const kills = Number(values.kills ?? 200)
const seed = Number(values.seed ?? newSeed)
if (!Number.isSafeInteger(kills) || kills < 1)
  throw new Error('--kills must be a number of at least 1')

const random = createRandom(seed)
const server = values.postgres ? await startPostgres({ own: true, isDurable: true }) : undefined
console.log(`ORIEL_SEED=${seed}, ${kills} kills`)
let done = 0
let answered = 0
while (done < kills) {
  const problems = values.here
    ? await liveShortly()
    : await withDirectory((directory) => killOneStore(placeIn(directory)))
  if (problems.length === 0) continue
  for (const problem of problems) console.error(problem)
  await server?.close()
  process.exit(1)
}
await server?.close()
console.log(`${done} kills, ${answered} answers seen whole, no violation`)
process.exit(0)

function placeIn(directory: string): string {
  // A schema of its own for each.
  return server === undefined ? join(directory, 'oriel.db') : `${server.url}#kill_${done}`
}

async function killOneStore(place: string): Promise<readonly string[]> {
  const scene = await Scene.open(place)
  try {
    for (let turn = 0; turn < killsPerStore && done < kills; turn++) {
      const life = chooseLife()
      await scene.live(life)
      done += 1
      const found = await scene.violations()
      if (found.length > 0)
        return [`VIOLATION after kill ${done}, ${JSON.stringify(life)}`, ...found]
    }
    await scene.live({ answers: 2 })
    const found = [...(await scene.violations())]
    const diagnosis = server === undefined ? await doctor(place) : undefined
    if (diagnosis !== undefined) found.push(diagnosis)
    answered += scene.answered
    console.log(`${done} of ${kills} kills, ${answered} answers seen whole so far`)
    return found
  } finally {
    await scene.close()
  }
}

async function liveShortly(): Promise<readonly string[]> {
  const scene = await ShortLives.open()
  try {
    for (let turn = 0; turn < deathsPerStore && done < kills; turn++) {
      const [writes, death] = [integer(random, [1, 90]), choose(random, deaths)]
      await scene.live(writes, death)
      done += 1
      const found = await scene.violations()
      if (found.length > 0) return [`VIOLATION after death ${done}, ${death} ${writes}`, ...found]
    }
    answered += scene.conversations.flatMap(({ seen }) => seen).filter(isAnswer).length
    console.log(`${done} of ${kills} deaths, ${answered} answers seen whole so far`)
    return []
  } finally {
    await scene.close()
  }
}

function isAnswer(mark: string): boolean {
  return mark.startsWith('a')
}

function chooseLife(): Life {
  const isAtPoint = server === undefined && random() < 0.6
  if (!isAtPoint) return { killAfterMs: integer(random, [1, 1500]) }
  const point = choose(random, ['begin', 'before-commit', 'after-commit', 'before-acknowledge'])
  const how = choose(random, ['kill', 'late'])
  const writes = choose(random, ['auto', 'worker'] as const)
  return { writes, fault: `${point}:${integer(random, [1, 60])}:${how}` }
}
