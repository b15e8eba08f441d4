// JSON report of `oriel simulate`.

import type { FactCount, Outcome, Totals } from 'oriel/simulate'
import { renderJson } from '../render/json.ts'
import type { SimulateReport } from './command.ts'
import { measure } from './condition.ts'

export function toJson(report: SimulateReport): string {
  const { simulation, settings, failures, notes, isSample, hasTimes } = report
  const { none, outcomes, messages, requests, optimum, inputDollars } = simulation
  const dollars = (cost: number): number | undefined =>
    inputDollars === undefined ? undefined : (cost * inputDollars) / 1e6
  const row = (outcome: Outcome): object => ({
    name: outcome.name,
    // A metric without anything to judge is null, not absent.
    ...Object.fromEntries(
      Object.entries(measure(outcome, simulation)).map(([name, value]) => [name, value ?? null]),
    ),
    dollars: dollars(outcome.totals.cost),
    totals: totals(outcome.totals),
    sources: Object.fromEntries(
      Object.entries(outcome.sources).map(([source, own]) => [source, totals(own)]),
    ),
    conversations: outcome.conversations.map(({ id, source, steps }) => ({
      id,
      source,
      requests: steps.length,
      tokens: sum(steps.map((step) => step.tokens)),
      cost: sum(steps.map((step) => step.cost)),
      missing: sum(steps.map((step) => step.missing)),
    })),
  })
  const value = {
    version: 1,
    sample: isSample,
    conversations: none.conversations.length,
    messages,
    requests,
    prices: settings.prices,
    counter: settings.tokens,
    timed: hasTimes,
    optimum: { cost: optimum, dollars: dollars(optimum) },
    policies: [none, ...outcomes].map(row),
    failIf: settings.failIf?.text,
    failures,
    notes,
  }
  return renderJson(value)
}

/** As in the tables, `lost` is neither visible nor recoverable. */
function totals(own: Totals): Totals & { readonly compactions: number } {
  const facts = (count: FactCount): FactCount => ({ ...count })
  return {
    ...own,
    arguments: facts(own.arguments),
    compactions: own.breaks.compaction ?? 0,
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0)
}
