// Judges policies on recorded conversations: `node scripts/judge-policies.ts [--anchors] <preset | file | JSON> ...`

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { resolveCounter } from '../packages/oriel/src/counters.ts'
import type { Judgement } from '../packages/oriel/src/simulate/judge.ts'
import { optimalCost } from '../packages/oriel/src/simulate/optimum.ts'
import type { Recording } from '../packages/oriel/src/simulate/recording.ts'
import {
  type CreateManager,
  threadManager,
  unmanaged,
} from '../packages/oriel/src/simulate/replay.ts'
import { judgeAll, study } from '../packages/oriel/src/simulate/study.ts'
import { totalsOf } from '../packages/oriel/src/simulate/totals.ts'
import { anchors } from './anchors.ts'

const folder = process.env.ORIEL_DATA ?? join(import.meta.dirname, '../../shared/data')
const args = process.argv.slice(2)
const recordings = readdirSync(folder)
  .filter((name) => name.endsWith('.jsonl'))
  .flatMap((name) =>
    readFileSync(join(folder, name), 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Recording & { file: string } => ({ ...JSON.parse(line), file: name })),
  )
let start = performance.now()
const studied = study(recordings)
const facts = studied.flatMap(({ needs }) => needs.flatMap((need) => need.facts))
console.log(
  `${recordings.length} conversations, ${facts.filter((f) => f.place === 'arguments').length} argument facts, ${facts.filter((f) => f.place === 'text').length} text facts, ${((performance.now() - start) / 1000).toFixed(1)} s`,
)
const fileOf = new Map(recordings.map(({ id, file }) => [id, file.replace(/^dev\.|\.jsonl$/g, '')]))

const contenders: [string, CreateManager][] = [['none', unmanaged]]
for (const arg of args) {
  if (arg === '--anchors') contenders.push(...Object.entries(anchors))
  else if (!arg.startsWith('--')) {
    const text = existsSync(arg) ? readFileSync(arg, 'utf8') : arg
    const policy = text.trim().startsWith('{') ? JSON.parse(text) : text
    contenders.push([arg, threadManager({ policy })])
  }
}
const optimum = new Map(
  studied.map(({ recording }) => [
    recording.id,
    optimalCost(recording, { counter: resolveCounter('estimate') }),
  ]),
)
let none: readonly Judgement[] = []
for (const [name, create] of contenders) {
  start = performance.now()
  const all = await judgeAll(studied, create)
  if (name === 'none') none = all
  console.log(`\n${name}  (${((performance.now() - start) / 1000).toFixed(1)} s)`)
  for (const source of ['', ...new Set(fileOf.values())]) {
    const pick = (list: readonly Judgement[]) =>
      totalsOf(list.filter(({ id }) => source === '' || fileOf.get(id) === source))
    const t = pick(all)
    const base = pick(none)
    const best = all.reduce(
      (sum, { id }) =>
        source === '' || fileOf.get(id) === source ? sum + (optimum.get(id) ?? 0) : sum,
      0,
    )
    const share = (n: number, of: number) => ((100 * n) / Math.max(1, of)).toFixed(2)
    const { needed, visible, anchored, recoverable } = t.arguments
    console.log(
      `  ${(source || 'all').padEnd(16)} tokens ${(t.tokens / base.tokens).toFixed(3)} cost ${(t.cost / base.cost).toFixed(3)} regret ${(t.cost / best).toFixed(3)} visible ${share(visible, needed)} anchored ${share(anchored, needed)} recoverable ${share(recoverable, needed)} text ${share(t.text.visible, t.text.needed)} old ${share(t.old.visible, t.old.needed)} complete ${(100 * t.completeCalls).toFixed(1)} user ${(100 * t.userText).toFixed(1)} invalid ${t.invalid} refused ${t.refused} mean ${Math.round(t.meanTokens)} peak ${t.peakTokens} needed ${needed} breaks ${JSON.stringify(t.breaks)}`,
    )
  }
}
