// HTML report: one file that works offline, runs no script and escapes every name.

import type { Judgement, Outcome } from 'oriel/simulate'
import type { SimulateReport } from './command.ts'
import { measure } from './condition.ts'
import { escapeText, plot, timeline } from './svg.ts'

/** Maximum conversations with a timeline, most expensive first, to bound the file size. */
const shownConversations = 60

export function renderHtml(report: SimulateReport): string {
  const { simulation, settings } = report
  const { none, outcomes, messages, requests, inputDollars } = simulation
  const { prices } = settings
  const all = [none, ...outcomes]
  const points = all.map((outcome) => {
    const { cost, recall } = measure(outcome, simulation)
    return { name: outcome.name, x: cost, y: recall }
  })
  const body = [
    '<h1>oriel simulate</h1>',
    `<p>${none.conversations.length} conversations, ${messages} messages, ${requests} model calls. Prices of ${escapeText(prices.model ?? prices.provider)} (${escapeText(prices.asOf)}): reading ${prices.read}, writing ${prices.write} of an input token${inputDollars === undefined ? '' : `, $${inputDollars} a million`}. Tokens: ${escapeText(settings.tokens)}. ${report.hasTimes ? 'The cache lives by the recorded times.' : 'No recorded times: the cache is always live.'}</p>`,
    '<h2>Cost and fidelity</h2>',
    plot(points),
    tableOf(report, all),
    '<h2>Conversations</h2>',
    legend(all),
    ...timelines(all),
    ...report.notes.map((note) => `<p class="note">${escapeText(note)}</p>`),
  ]
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>oriel simulate</title>
<style>${style}</style>
</head>
<body>
${body.join('\n')}
</body>
</html>
`
}

function tableOf({ simulation, failures }: SimulateReport, all: readonly Outcome[]): string {
  const { inputDollars, none } = simulation
  const share = (value: number): string => `${(100 * value).toFixed(1)}%`
  const rows = all.map((outcome) => {
    const { totals, name } = outcome
    const measured = measure(outcome, simulation)
    const { lost, needed } =
      none.totals.arguments.needed === 0 ? { lost: 0, needed: 0 } : totals.arguments
    const dollars =
      inputDollars === undefined ? '' : `$${((totals.cost * inputDollars) / 1e6).toFixed(3)}`
    const causes = Object.entries(totals.breaks).map(([cause, count]) => `${cause} ${count}`)
    const failure = failures.find(({ policy }) => policy === name)
    const cells = [
      name,
      measured.cost.toFixed(3),
      dollars,
      measured.tokens.toFixed(3),
      share(measured.cached),
      measured.regret.toFixed(3),
      share(measured.recall),
      share(measured.anchored),
      share(measured.reachable),
      `${lost} of ${needed}`,
      share(measured.complete),
      share(measured.user),
      causes.join(', '),
      String(totals.breaks.compaction ?? 0),
      String(Math.round(totals.meanTokens)),
      String(totals.peakTokens),
      String(totals.invalid + totals.refused),
    ]
    const [first = '', ...rest] = cells.map(escapeText)
    const mark = failure === undefined ? '' : ` class="fails" title="${escapeText(failure.why)}"`
    return `<tr${mark}><th>${first}</th>${rest.map((cell) => `<td>${cell}</td>`).join('')}</tr>`
  })
  const titles = [
    'policy',
    'cost',
    'dollars',
    'tokens',
    'cached',
    'regret',
    'visible',
    'anchored',
    'reachable',
    'lost',
    'calls complete',
    'user text',
    'cache breaks',
    'checkpoints',
    'mean',
    'peak',
    'invalid',
  ]
  const head = titles.map((title) => `<th>${title}</th>`).join('')
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

function timelines(all: readonly Outcome[]): readonly string[] {
  const [none] = all
  if (none === undefined) return []
  const order = none.conversations
    .map((judgement, index) => ({ index, cost: costOf(judgement) }))
    .sort((a, b) => b.cost - a.cost)
  const shown = order.slice(0, shownConversations).map(({ index }, place) => {
    const own = all.map(({ name, conversations }) => ({
      name,
      steps: conversations[index]?.steps ?? [],
    }))
    const { id, source, steps } = none.conversations[index] as Judgement
    const title = `${escapeText(id)} <small>${escapeText(source)}, ${steps.length} calls</small>`
    return `<details${place === 0 ? ' open' : ''}><summary>${title}</summary>${timeline(own)}</details>`
  })
  const more = order.length - shown.length
  return more > 0 ? [...shown, `<p>And ${more} more, which cost less.</p>`] : shown
}

function legend(all: readonly Outcome[]): string {
  const names = all.map(
    ({ name }, index) => `<span class="c${index % 8}">${escapeText(name)}</span>`,
  )
  return `<p class="legend">${names.join(' ')}</p><p>Tokens of each request; a bar below marks a cache break, a dot a request that misses a needed fact.</p>`
}

function costOf({ steps }: Judgement): number {
  return steps.reduce((sum, step) => sum + step.cost, 0)
}

const colors = ['#777', '#0b6', '#06c', '#c60', '#a3c', '#c03', '#088', '#860']
const style = `body{font:15px/1.5 system-ui,sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
h1{font-size:1.4rem}h2{font-size:1.1rem;margin-top:2rem}svg{max-width:100%;height:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}
tbody th,thead th:first-child{text-align:left}.wide{overflow-x:auto}.fails{background:#fee}.note{color:#a50}summary{cursor:pointer}
.axis{stroke:#999;stroke-width:1}text{font:12px system-ui,sans-serif;fill:#444}
${colors.map((color, index) => `.c${index}{color:${color};stroke:${color}}svg .f${index}{fill:${color};stroke:none}`).join('')}
.legend span{font-weight:600;margin-right:1rem;stroke:none}polyline{fill:none;stroke-width:1.5}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}text{fill:#bbb}th,td{border-color:#444}.fails{background:#411}}`
