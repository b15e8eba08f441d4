// Counts the prototype's errors over all recordings: `npm run count [-- --details]`.

import { readdirSync, readFileSync } from 'node:fs'
import type { Fixture } from './fixture.ts'
import { fixtureFolder } from './fixture.ts'
import type { Sample, Verdict } from './match/judge.ts'
import { judge, verdicts } from './match/judge.ts'
import { allKeyRules, createKey, keys } from './match/key.ts'
import type { MatcherOptions } from './match/matcher.ts'
import { allMatcherRules, Matcher } from './match/matcher.ts'

interface NamedFixture extends Fixture {
  readonly name: string
}

const showsDetails = process.argv.includes('--details')
const fixtures = readFixtures()
const alone = fixtures.map((fixture) => [fixture])
const together = Object.values(Object.groupBy(fixtures, ({ format }) => format))
const requests = fixtures.flatMap((fixture) => fixture.requests)

console.log(`${fixtures.length} recordings, ${requests.length} requests\n`)
console.log(row('', verdicts))
for (const key of keys) {
  report(`${key.name}, each alone, session ids`, alone, { key, usesSessions: true })
  report(`${key.name}, each alone`, alone, { key, usesSessions: false })
  report(`${key.name}, all of a format at once`, together, { key, usesSessions: false })
}
console.log('\nThe recommended one without one of its rules, all of a format at once')
for (const rule of Object.keys(allKeyRules)) {
  const key = createKey(rule, { ...allKeyRules, [rule]: false })
  report(`not ${rule}`, together, { key, usesSessions: false })
}
for (const rule of Object.keys(allMatcherRules)) {
  const key = createKey(rule, allKeyRules)
  const rules = { ...allMatcherRules, [rule]: false }
  report(`not ${rule}`, together, { key, usesSessions: false, rules })
}

function readFixtures(): readonly NamedFixture[] {
  const files = readdirSync(fixtureFolder).filter((file) => file.endsWith('.json'))
  return files.map((file) => {
    const fixture = JSON.parse(readFileSync(`${fixtureFolder}${file}`, 'utf8')) as Fixture
    if (fixture.requests.length !== fixture.expected.length) {
      throw new Error(`${file} does not say what each of its requests is`)
    }
    return { ...fixture, name: file.slice(0, -'.json'.length) }
  })
}

function report(
  title: string,
  groups: readonly (readonly NamedFixture[])[],
  options: MatcherOptions,
): void {
  const counts = new Map<Verdict, number>(verdicts.map((verdict) => [verdict, 0]))
  for (const group of groups) {
    const samples = interleave(group)
    const matcher = new Matcher(options)
    for (const [index, sample] of samples.entries()) {
      const decision = matcher.take(sample.format, sample.request, index)
      const verdict = judge(samples, index, { decision, usesSessions: options.usesSessions })
      counts.set(verdict, (counts.get(verdict) ?? 0) + 1)
      if (!showsDetails || verdict === 'right') continue
      const [got, wanted] = [decision, sample.expected].map((value) =>
        Object.values(value).join(' '),
      )
      console.log(`  ${sample.name} #${index}: ${verdict}: ${got}, in truth ${wanted}`)
    }
  }
  console.log(row(title, [...counts.values()].map(String)))
}

function row(title: string, cells: readonly string[]): string {
  return [title.padEnd(44), ...cells.map((cell) => cell.padStart(18))].join('')
}

/** Interleaves the requests of all recordings, as if all clients worked concurrently. */
function interleave(group: readonly NamedFixture[]): readonly Sample[] {
  const samples: Sample[] = []
  const positions = group.map((): number[] => [])
  const rounds = Math.max(...group.map((fixture) => fixture.requests.length))
  for (let round = 0; round < rounds; round++) {
    for (const [which, { name, format, requests, expected }] of group.entries()) {
      const [request, truth] = [requests[round], expected[round]]
      if (request === undefined || truth === undefined) continue
      const places = positions[which] as number[]
      places.push(samples.length)
      const moved = 'of' in truth ? { ...truth, of: places[truth.of] as number } : truth
      samples.push({ name, format, request, expected: moved })
    }
  }
  return samples
}
