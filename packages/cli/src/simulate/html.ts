// HTML report: one file that works offline, runs no script and escapes every name.

import type { Judgement, Outcome } from 'oriel/simulate'
import type { SimulateReport } from './command.ts'
import { type Measured, measure } from './condition.ts'
import { escapeText, plot, timeline } from './svg.ts'

/** Maximum conversations with a timeline, most expensive first, to bound the file size. */
const shownConversations = 60

export function renderHtml(report: SimulateReport): string {
  const { simulation, settings } = report
  const { none: unmanaged, outcomes, messages, requests, inputDollars } = simulation
  const { prices } = settings
  const all = [unmanaged, ...outcomes]
  const points = all.flatMap((outcome) => {
    const { cost = 1, recall } = measure(outcome, simulation)
    return recall === undefined ? [] : [{ name: outcome.name, x: cost, y: recall }]
  })
  const body = [
    '<h1>oriel simulate</h1>',
    `<p>${unmanaged.conversations.length} conversations, ${messages} messages, ${requests} model calls. Prices of ${escapeText(prices.model ?? prices.provider)} (${escapeText(prices.asOf)}): reading ${prices.read}, writing ${prices.write} of an input token${inputDollars === undefined ? '' : `, $${inputDollars} a million`}. Tokens: ${escapeText(settings.tokens)}. ${report.hasTimes ? 'The cache lives by the recorded times.' : 'No recorded times: the cache is always live.'}</p>`,
    '<h2>Cost and fidelity</h2>',
    points.length === 0
      ? '<p class="note">No call used a value that was said before: facts cannot be judged.</p>'
      : plot(points),
    costTable(report, all),
    factTable(report, all),
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

/** Nothing to judge. */
const none = '\u2013'

function share(value: number | undefined): string {
  return value === undefined ? none : `${(Math.floor(1000 * value) / 10).toFixed(1)}%`
}

function costTable(report: SimulateReport, all: readonly Outcome[]): string {
  const { inputDollars } = report.simulation
  const dollars = (cost: number): string =>
    inputDollars === undefined ? '' : ` ($${((cost * inputDollars) / 1e6).toFixed(3)})`
  const titles = 'policy,cost,tokens,cached,regret,cache breaks,mean,peak,invalid,summaries'
  return tableOf(report, all, titles, ({ totals }, measured) => [
    `${measured.cost?.toFixed(3) ?? none}${dollars(totals.cost)}`,
    measured.tokens?.toFixed(3) ?? none,
    share(measured.cached),
    measured.regret?.toFixed(3) ?? none,
    Object.entries(totals.breaks)
      .map(([cause, count]) => `${cause} ${count}`)
      .join(', '),
    String(Math.round(totals.meanTokens)),
    String(totals.peakTokens),
    String(totals.invalid + totals.refused),
    totals.summaries === undefined
      ? none
      : `${totals.summaries.calls}${dollars(totals.summaries.cost)}`,
  ])
}

function factTable(report: SimulateReport, all: readonly Outcome[]): string {
  const titles =
    'policy,visible,anchored,reachable,lost,calls complete,user text,rules kept,checkpoints,lookups'
  return tableOf(report, all, titles, ({ totals }, measured) => {
    const { lost, needed } = totals.arguments
    return [
      share(measured.recall),
      share(measured.anchored),
      share(measured.reachable),
      needed === 0 ? none : `${lost} of ${needed}`,
      share(measured.complete),
      share(measured.user),
      share(measured.rules),
      String(totals.breaks.compaction ?? 0),
      String(totals.lookups.count),
    ]
  })
}

function tableOf(
  { simulation, failures }: SimulateReport,
  all: readonly Outcome[],
  titles: string,
  cellsOf: (outcome: Outcome, measured: Measured) => readonly string[],
): string {
  const rows = all.map((outcome) => {
    const failure = failures.find(({ policy }) => policy === outcome.name)
    const cells = cellsOf(outcome, measure(outcome, simulation)).map(
      (cell) => `<td>${escapeText(cell)}</td>`,
    )
    const mark = failure === undefined ? '' : ` class="fails" title="${escapeText(failure.why)}"`
    return `<tr${mark}><th>${escapeText(outcome.name)}</th>${cells.join('')}</tr>`
  })
  const head = titles.split(',').map((title) => `<th>${title}</th>`)
  return `<div class="wide"><table><thead><tr>${head.join('')}</tr></thead><tbody>${rows.join('\n')}</tbody></table></div>`
}

function timelines(all: readonly Outcome[]): readonly string[] {
  const [first] = all
  if (first === undefined) return []
  const order = first.conversations
    .map((judgement, index) => ({ index, cost: costOf(judgement) }))
    .sort((a, b) => b.cost - a.cost)
  const shown = order.slice(0, shownConversations).map(({ index }, place) => {
    const own = all.map(({ name, conversations }) => ({
      name,
      steps: conversations[index]?.steps ?? [],
    }))
    const { id, source, steps } = first.conversations[index] as Judgement
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
table{border-collapse:collapse;margin:1rem 0;max-width:100%;font-variant-numeric:tabular-nums}th,td{padding:.2rem .5rem;text-align:right;border-bottom:1px solid #ddd;overflow-wrap:anywhere}
tbody th,thead th:first-child{text-align:left}.wide{overflow-x:auto}.fails{background:#fee}.note{color:#a50}summary{cursor:pointer}
.axis{stroke:#999;stroke-width:1}text{font:12px system-ui,sans-serif;fill:#444}
${colors.map((color, index) => `.c${index}{color:${color};stroke:${color}}svg .f${index}{fill:${color};stroke:none}`).join('')}
.legend span{font-weight:600;margin-right:1rem;stroke:none}polyline{fill:none;stroke-width:1.5}
@media(prefers-color-scheme:dark){body{background:#181818;color:#ddd}text{fill:#bbb}th,td{border-color:#444}.fails{background:#411}}`
