// Rules that a user stated: are they in the last view, and what else is taken for one? `npm run bench:rules`.

import { readCorpus } from './conversations.ts'
import {
  directivesIn,
  generateChat,
  judgeRules,
  type RulesJudgement,
  resolveCounter,
} from './oriel.ts'
import {
  count,
  endProgress,
  percent,
  progress,
  type Row,
  readSettings,
  report,
  type Table,
  words,
} from './report.ts'

const sizes = [20_000, 50_000, 100_000, 200_000, 500_000] as const
const styles = ['agent', 'chat'] as const
const policies = ['recommended', 'compaction'] as const
/** Every language comes up at every size. */
const seeds = [1, 2, 3, 4]
const counter = resolveCounter('estimate')

const settings = readSettings()
const tables: Table[] = [await rulesKept(), falsePositives(settings.directory)]
endProgress()
report('rules', tables, settings)

async function rulesKept(): Promise<Table> {
  const rows: Row[] = []
  for (const policy of policies) {
    for (const style of styles) {
      for (const tokens of sizes) {
        progress(`rules: ${policy}, ${style}, ${tokens} tokens`)
        const judged: RulesJudgement[] = []
        for (const seed of seeds) {
          judged.push(await judgeRules(generateChat({ seed, tokens, style }), { policy, counter }))
        }
        rows.push({ policy, style, tokens: count(tokens), ...rowOf(judged) })
      }
    }
  }
  return {
    title: 'Stated rules that the last view has word for word',
    rows,
    notes: [
      `Generated conversations (simulate/stated-rules.ts), seeds ${seeds.join(', ')}: ten rules each at every tenth in 13 languages (alone, inside a message, between code and logs), one restated by the assistant and confirmed, one replaced later.`,
      'The rules were written by the authors of the cue words, in the same style: how people phrase rules otherwise is not measured here.',
      'Kept: in the text of the last view and in `view.directives`. Replaced: old rules that are still listed. Quoted: quotations and tool output that are listed.',
      'Folds: checkpoints of one conversation, the fewest; ten of them are asked for, and one that can fold nothing is not made. List: share of the view, at most.',
    ],
  }
}

function rowOf(judged: readonly RulesJudgement[]): Row {
  const rules = judged.flatMap((one) => one.rules)
  const kept = rules.filter(({ isKept }) => isKept)
  return {
    kept: `${kept.length} of ${rules.length}`,
    'kept %': percent(kept.length / rules.length),
    replaced: count(judged.reduce((sum, { stale }) => sum + stale, 0)),
    quoted: count(judged.reduce((sum, { decoys }) => sum + decoys, 0)),
    folds: count(Math.min(...judged.map(({ folds }) => folds))),
    list: percent(Math.max(...judged.map((one) => one.listTokens / one.viewTokens))),
  }
}

/** What is found in the user messages of recorded conversations, the first of each left out: it states the task and always stays. */
function falsePositives(folder: string | undefined): Table {
  const corpus = readCorpus(folder)
  const bySource = new Map<string, { messages: number; found: number; all: number; own: number }>()
  for (const { source = '', messages } of corpus.conversations) {
    const name = source.split('/')[0] ?? ''
    const sums = bySource.get(name) ?? { messages: 0, found: 0, all: 0, own: 0 }
    for (const { content } of messages.filter(({ role }) => role === 'user').slice(1)) {
      const text = content ?? ''
      const found = directivesIn(text)
      sums.messages += 1
      sums.found += found.length > 0 ? 1 : 0
      sums.all += text.length
      sums.own += found.reduce((sum, one) => sum + one.text.length, 0)
    }
    bySource.set(name, sums)
  }
  const rows = [...bySource].filter(([, { messages }]) => messages > 0)
  return {
    title: `Ordinary user messages that are taken for a rule or a preference, ${corpus.name}`,
    rows: rows.map(([source, { messages, found, all, own }]) => ({
      source,
      messages: words(messages),
      'with a directive': words(found),
      share: percent(found / messages),
      'of their text': percent(own / all),
    })),
    notes: ['Most of what is found are preferences of customers ("I prefer a window seat").'],
  }
}
