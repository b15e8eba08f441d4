// Counters, gauges and histograms in the memory of the process, printed in Prometheus' text format. Every label has a closed set of values,
// or a bound on how many it may have: what comes from outside can never grow it.

export interface Label {
  readonly name: string
  /** The attribute's name in OpenTelemetry. */
  readonly attribute: string
  /** The values that it may have, or how many different ones are told apart; the rest is `other`. */
  readonly values: readonly string[] | number
}

export interface MetricDefinition {
  /** As Prometheus has it. */
  readonly name: string
  /** As OpenTelemetry has it. */
  readonly otel: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** As OpenTelemetry writes units. */
  readonly unit: string
  readonly labels: readonly Label[]
  /** Upper bounds of a histogram's buckets, ascending, without the last one. */
  readonly buckets?: readonly number[]
}

/** Longer values are no names. */
const maxValueLength = 100
/** Series that are there from the start, at zero, so that the first increase is seen as one. */
const maxPrepared = 64
const other = 'other'
/** Stands for all values of a label that is hidden. */
const every = 'all'

interface Series {
  readonly values: readonly string[]
  /** A counter's or gauge's value; a histogram's sum. */
  sum: number
  /** A histogram's buckets, each by itself, the last one for everything above. */
  readonly counts: Float64Array
}

/** One metric with all of its series. */
export class Metric {
  readonly definition: MetricDefinition
  readonly #buckets: readonly number[]
  readonly #series = new Map<string, Series>()
  readonly #known: readonly Set<string>[]

  constructor(definition: MetricDefinition) {
    this.definition = definition
    this.#buckets = definition.buckets ?? []
    this.#known = definition.labels.map(({ values }) =>
      typeof values === 'number' ? new Set<string>() : new Set(values),
    )
    for (const values of prepared(definition)) this.#of(values)
  }

  /** Adds to a counter or gauge, or takes a histogram's measurement. Values that are no number are left out. */
  record(value: number, values: readonly string[] = none): void {
    if (!Number.isFinite(value)) return
    const series = this.#seriesOf(values)
    series.sum += value
    if (this.definition.type !== 'histogram') return
    let index = 0
    while (index < this.#buckets.length && value > (this.#buckets[index] as number)) index += 1
    series.counts[index] = (series.counts[index] ?? 0) + 1
  }

  set(value: number, values: readonly string[] = none): void {
    this.#seriesOf(values).sum = value
  }

  /** The values that stand for those given: the same, or `other`. */
  bounded(values: readonly string[]): readonly string[] {
    const { labels } = this.definition
    if (labels.length === 0) return none
    return labels.map((label, index) => this.#bound(label, index, values[index]))
  }

  /** Series that differ only in labels that are hidden are added up. */
  lines(hidden: ReadonlySet<string> = new Set()): readonly string[] {
    const { name, type, help } = this.definition
    const head = [`# HELP ${name} ${help.replace(/[\\\n]/g, ' ')}`, `# TYPE ${name} ${type}`]
    return [...head, ...this.#shown(hidden).flatMap((series) => this.#linesOf(series))]
  }

  #shown(hidden: ReadonlySet<string>): readonly Series[] {
    const { labels } = this.definition
    const all = [...this.#series.values()]
    if (!labels.some((label) => hidden.has(label.name))) return all
    const sums = new Map<string, Series>()
    for (const { values: own, sum, counts } of all) {
      const values = own.map((value, index) =>
        hidden.has(labels[index]?.name ?? '') ? every : value,
      )
      const known = sums.get(values.join('\0'))
      const added = counts.map((count, index) => count + (known?.counts[index] ?? 0))
      sums.set(values.join('\0'), { values, sum: sum + (known?.sum ?? 0), counts: added })
    }
    return [...sums.values()]
  }

  #bound(label: Label, index: number, value = other): string {
    const known = this.#known[index] as Set<string>
    if (known.has(value)) return value
    const isFull = typeof label.values !== 'number' || known.size >= label.values
    if (isFull || value.length > maxValueLength) return other
    known.add(value)
    return value
  }

  /** Without a list of its own for what is known already: this is done several times for each call. */
  #seriesOf(values: readonly string[]): Series {
    const { labels } = this.definition
    let key = ''
    for (let index = 0; index < labels.length; index++) {
      const value = this.#bound(labels[index] as Label, index, values[index])
      key = index === 0 ? value : `${key}\0${value}`
    }
    return this.#series.get(key) ?? this.#of(this.bounded(values))
  }

  #of(values: readonly string[]): Series {
    const isHistogram = this.definition.type === 'histogram'
    const counts = new Float64Array(isHistogram ? this.#buckets.length + 1 : 0)
    const made = { values, sum: 0, counts }
    this.#series.set(values.join('\0'), made)
    return made
  }

  #linesOf({ values, sum, counts }: Series): readonly string[] {
    const { name, type, labels } = this.definition
    const own = labels.map((label, index) => `${label.name}="${escapeValue(values[index] ?? '')}"`)
    const line = (suffix: string, pairs: readonly string[], value: number): string =>
      `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${numberText(value)}`
    if (type !== 'histogram') return [line('', own, sum)]
    let total = 0
    const buckets = Array.from(counts, (count, index) => {
      total += count
      return line('_bucket', [...own, `le="${this.#buckets[index] ?? '+Inf'}"`], total)
    })
    return [...buckets, line('_sum', own, sum), line('_count', own, total)]
  }
}

const none: readonly string[] = []

/** All combinations of closed sets, where they are few. */
function prepared({ labels, type }: MetricDefinition): readonly (readonly string[])[] {
  if (type === 'histogram' && labels.length > 0) return []
  let all: (readonly string[])[] = [[]]
  for (const { values } of labels) {
    if (typeof values === 'number') return []
    all = all.flatMap((before) => values.map((value) => [...before, value]))
  }
  return all.length > maxPrepared ? [] : all
}

/** A sum may overflow; Prometheus writes infinity in its own way. */
function numberText(value: number): string {
  return String(value).replace(/^(-?)Infinity$/, (_, sign: string) => `${sign || '+'}Inf`)
}

function escapeValue(value: string): string {
  return value.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`))
}

/** The text that Prometheus reads, without the values of labels that are hidden. */
export function printMetrics(metrics: Iterable<Metric>, hidden?: ReadonlySet<string>): string {
  return `${[...metrics].flatMap((metric) => metric.lines(hidden)).join('\n')}\n`
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'
