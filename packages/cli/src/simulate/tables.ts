// Terminal report of `oriel simulate`: cost, facts, and each source.

import type { Outcome, Simulation, Totals } from 'oriel/simulate'
import { type Column, heading, number, percent, plural, table } from '../render/layout.ts'
import { clean } from '../render/text.ts'
import type { Colors } from '../terminal.ts'
import type { SimulateReport } from './command.ts'
import { measure } from './condition.ts'

interface Page {
  readonly colors: Colors
  readonly width: number
}

const right: Column = { align: 'right' }
const shownSources = 12

export function renderTables(report: SimulateReport, page: Page): string {
  const { simulation } = report
  const lines = [
    ...renderHead(report, page),
    ...renderCost(report, page),
    ...renderFacts(simulation, page),
    ...renderRules(report, page),
    ...renderBreaks(simulation, page),
    ...renderSources(simulation, page),
    ...renderNotes(report, page),
  ]
  return `${lines.join('\n')}\n`
}

function renderHead({ isSample, simulation, settings }: SimulateReport, { colors }: Page) {
  const { none, messages, requests } = simulation
  const { prices, tokens } = settings
  const what = `${plural(none.conversations.length, 'conversation')}, ${plural(messages, 'message')}, ${plural(requests, 'model call')}`
  const cache = `reading ${prices.read}, writing ${prices.write}`
  return [
    `${colors.bold('oriel simulate')}  ${clean(what)}${isSample ? ' (the bundled samples)' : ''}`,
    colors.dim(
      clean(
        `prices of ${prices.model ?? prices.provider}, ${prices.asOf}: ${cache}; tokens: ${tokens}`,
      ),
    ),
  ]
}

function renderCost({ simulation, settings }: SimulateReport, page: Page): string[] {
  const { none, outcomes, optimum, inputDollars } = simulation
  const { colors, width } = page
  const best = Math.min(...outcomes.map(({ totals }) => totals.cost))
  const row = (outcome: Outcome) => {
    const { totals } = outcome
    const { cost = 1, tokens = 1, regret = 1 } = measure(outcome, simulation)
    const isBest = totals.cost === best && totals.cost < none.totals.cost
    return [
      outcome.name,
      { text: cost.toFixed(2), style: isBest ? colors.green : cost > 1 ? colors.yellow : plain },
      dollarText(totals.cost, inputDollars),
      tokens.toFixed(2),
      percent(totals.cachedShare),
      number(Math.round(totals.meanTokens)),
      number(totals.peakTokens),
      regret.toFixed(2),
      bad(totals.invalid + totals.refused, colors),
    ]
  }
  const titles = ['policy', 'cost', '', 'tokens', 'cached', 'mean', 'peak', 'regret', 'invalid']
  return [
    ...heading(paper(page), 'Cost', 'input, relative to doing nothing; mean and peak request'),
    ...table(
      [{ takesRest: true }, right, right, right, right, right, right, right, right],
      [titles.map((text) => ({ text, style: colors.dim })), row(none), ...outcomes.map(row)],
      width,
    ),
    colors.dim(
      `  regret: cost against an oracle that clears old results, knowing the future (${dollarText(optimum, inputDollars) || number(Math.round(optimum))})${settings.budget === undefined ? '' : `; budget ${number(settings.budget)}`}`,
    ),
  ]
}

function renderFacts(simulation: Simulation, page: Page): string[] {
  const { none, outcomes } = simulation
  const { colors, width } = page
  const { needed } = none.totals.arguments
  if (needed === 0) {
    return [
      ...heading(paper(page), 'Facts'),
      colors.dim('  no call used a value that was said before: nothing to compare'),
    ]
  }
  const row = ({ name, totals }: Outcome) => {
    const { visible, anchored, recoverable, lost } = totals.arguments
    return [
      name,
      exact(visible / needed),
      exact(anchored / needed),
      exact(recoverable / needed),
      bad(lost, colors),
      exact(totals.text.needed === 0 ? 1 : totals.text.visible / totals.text.needed),
      exact(totals.completeCalls),
      exact(totals.userText),
    ]
  }
  const titles = ['policy', 'visible', 'anchored', 'recover', 'lost', 'in text', 'calls', 'user']
  return [
    ...heading(
      paper(page),
      'Facts',
      `of ${plural(needed, 'value')} that calls used and that had been said before`,
    ),
    ...table(
      [{ takesRest: true }, right, right, right, right, right, right, right],
      [titles.map((text) => ({ text, style: colors.dim })), row(none), ...outcomes.map(row)],
      width,
    ),
    colors.dim('  anchored: with its words; calls: saw all they needed; user: own text kept'),
  ]
}

/** Stated rules, lookups and summaries: what the cost above does not contain. */
function renderRules({ simulation, settings }: SimulateReport, page: Page): string[] {
  const { outcomes, inputDollars } = simulation
  const { colors, width } = page
  const row = ({ name, totals }: Outcome) => {
    const { rules, lookups, summaries } = totals
    return [
      name,
      rules === undefined || rules.stated === 0 ? '-' : exact(rules.kept / rules.stated),
      rules === undefined ? '-' : `${rules.stale} of ${rules.replaced}`,
      rules === undefined ? '-' : number(rules.folds),
      number(lookups.count),
      priceText(lookups.cost, inputDollars),
      summaries === undefined ? '-' : number(summaries.calls),
      summaries === undefined ? '' : priceText(summaries.cost, inputDollars),
    ]
  }
  const titles = ['policy', 'rules', 'stale', 'folds', 'lookups', '', 'summaries', '']
  const what =
    settings.rules === 0
      ? 'lookups and summaries, which come on top of the cost'
      : `${plural(settings.rules, 'rule')} stated in each conversation, ten folds asked for`
  return [
    ...heading(paper(page), 'Rules kept', what),
    ...table(
      [{ takesRest: true }, right, right, right, right, right, right, right],
      [titles.map((text) => ({ text, style: colors.dim })), ...outcomes.map(row)],
      width,
    ),
    colors.dim('  stale: replaced, and still listed; lookups, summaries: not in the cost above'),
  ]
}

function priceText(cost: number, inputDollars: number | undefined): string {
  return dollarText(cost, inputDollars) || `${number(Math.round(cost))} tokens`
}

function renderBreaks({ outcomes }: Simulation, page: Page): string[] {
  const rows = outcomes
    .filter(({ totals }) => Object.keys(totals.breaks).length > 0)
    .map(({ name, totals }) => [name, causes(totals)])
  if (rows.length === 0) return []
  return [
    ...heading(paper(page), 'Cache breaks', 'by what caused them'),
    ...table([{ maxWidth: 40 }, { takesRest: true }], rows, page.width),
  ]
}

function renderSources({ none, outcomes }: Simulation, page: Page): string[] {
  const sources = Object.keys(none.sources)
  if (sources.length < 2) return []
  const { colors, width } = page
  const titles = ['source', 'calls', ...outcomes.map(({ name }) => name)]
  const rows = sources.slice(0, shownSources).map((source) => [
    source,
    number(none.sources[source]?.requests ?? 0),
    ...outcomes.map(({ sources: own }) => {
      const base = none.sources[source]
      const totals = own[source]
      if (base === undefined || totals === undefined || base.cost === 0) return ''
      const { needed, visible } = totals.arguments
      const seen = needed === 0 ? '' : ` ${exact(visible / needed)}`
      return `${(totals.cost / base.cost).toFixed(2)}${seen}`
    }),
  ])
  const more = sources.length - shownSources
  return [
    ...heading(paper(page), 'By source', 'cost and visible facts'),
    ...table(
      [{ takesRest: true }, right, ...outcomes.map((): Column => ({ ...right, maxWidth: 14 }))],
      [titles.map((text) => ({ text, style: colors.dim })), ...rows],
      width,
    ),
    ...(more > 0 ? [colors.dim(`  and ${more} more; --json has them all`)] : []),
  ]
}

function renderNotes({ notes, hasTimes, settings }: SimulateReport, page: Page): string[] {
  const { colors } = page
  const time = hasTimes
    ? `the cache lives ${Math.round(settings.prices.ttlMs / 60_000)} minutes by the recorded times`
    : 'the recordings have no times: the cache is taken to be always live'
  return [
    '',
    colors.dim(`  ${time}`),
    ...notes.map((note) => colors.yellow(`  ${clean(note)}`)),
    ...(settings.html === undefined ? [] : [`  ${clean(settings.html)} has plots and timelines`]),
  ]
}

function causes({ breaks }: Totals): string {
  return Object.entries(breaks)
    .sort((a, b) => b[1] - a[1])
    .map(([cause, count]) => `${cause} ${number(count)}`)
    .join(', ')
}

function dollarText(cost: number, inputDollars: number | undefined): string {
  if (inputDollars === undefined) return ''
  const dollars = (cost * inputDollars) / 1e6
  return `$${dollars < 10 ? dollars.toFixed(3) : dollars.toFixed(2)}`
}

/** `99.5%`, never rounded up to 100. */
function exact(share: number): string {
  if (share === 1) return '100%'
  return `${(Math.floor(share * 1000) / 10).toFixed(1)}%`
}

function bad(count: number, colors: Colors) {
  return count === 0 ? '0' : { text: number(count), style: colors.yellow }
}

function paper(page: Page) {
  return { ...page, top: 0, showContent: false }
}

function plain(text: string): string {
  return text
}
