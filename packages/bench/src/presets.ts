// What each preset and each eagerness costs and keeps on recorded conversations. `npm run bench:presets`; `ORIEL_EVERY=4` takes every
// fourth conversation.

import { readCorpus } from './conversations.ts'
import { type NamedPolicy, simulate } from './oriel.ts'
import {
  count,
  endProgress,
  percent,
  progress,
  publish,
  type Row,
  readSettings,
  report,
  type Table,
} from './report.ts'

const presetNames = [
  'recommended',
  'placeholders',
  'compaction',
  'turn-expiry',
  'history-window',
  'plugin-retention',
] as const
const eagerness = ['savings', 'balanced', 'keep-more'] as const

const settings = readSettings()
const corpus = readCorpus(settings.directory)
const every = Math.max(1, Number(process.env.ORIEL_EVERY ?? 1))
const recordings = corpus.conversations
  .filter((_, index) => index % every === 0)
  .map((one, index) => ({ ...one, id: one.id ?? String(index) }))
const tables = [
  await compared(
    'Presets',
    presetNames.map((name) => ({ name, policy: name })),
  ),
  await compared(
    'How eager recommended is',
    eagerness.map((name) => ({
      name,
      policy: { preset: 'recommended', compaction: { eagerness: name } },
    })),
  ),
]
endProgress()
report('presets', tables, settings)
if (settings.write) publish('presets', tables)

async function compared(title: string, policies: readonly NamedPolicy[]): Promise<Table> {
  progress(`presets: ${title}`)
  const { none, outcomes } = await simulate(recordings, {
    policies,
    rules: 10,
    onProgress: (share) => progress(`presets: ${title}, ${percent(share)}`),
  })
  const rows = outcomes.map(({ name, costRatio, totals, sources }): Row => {
    const { needed, visible, anchored, recoverable } = totals.arguments
    const { stated = 0, kept = 0 } = totals.rules ?? {}
    const long = Object.entries(sources).map(([source, own]) => ({
      source,
      cost: own.cost / (none.sources[source]?.cost ?? own.cost),
    }))
    const worst = long.sort((a, b) => b.cost - a.cost)[0]
    return {
      policy: name,
      cost: costRatio.toFixed(3),
      'worst source': worst === undefined ? '' : `${worst.source} ${worst.cost.toFixed(2)}`,
      visible: percent(visible / needed),
      anchored: percent(anchored / needed),
      reachable: percent((visible + recoverable) / needed),
      rules: percent(kept / stated),
      breaks: count(Object.values(totals.breaks).reduce((sum, own) => sum + own, 0)),
      lookups: count(totals.lookups.count),
      invalid: count(totals.invalid + totals.refused),
    }
  })
  return {
    title: `${title}, ${recordings.length} conversations of ${corpus.name}`,
    rows,
    notes: [
      'Cost relative to doing nothing (cache read 0.1, write 1.25). Facts in arguments of calls. Rules: ten stated in each conversation in wording that the finder was not tuned on, ten folds asked for.',
    ],
  }
}
