// Metrics registry: counters, gauges and histograms in Prometheus text format. Every label has a
// closed or bounded set of values, so that input from clients cannot grow it.

export interface Label {
  readonly name: string
  /** The OpenTelemetry attribute name. */
  readonly attribute: string
  /** The allowed values, or the maximum number of distinct ones; the rest is `other`. */
  readonly values: readonly string[] | number
}

export interface MetricDefinition {
  /** The Prometheus name. */
  readonly name: string
  /** The OpenTelemetry name. */
  readonly otel: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** The OpenTelemetry unit. */
  readonly unit: string
  readonly labels: readonly Label[]
  /** Ascending upper bounds of the histogram buckets, without +Inf. */
  readonly buckets?: readonly number[]
}

/** Longer values are not names. */
const maxValueLength = 100
/** Series that are exported as 0 from the start, so that the first increase is visible. */
const maxPrepared = 64
const other = 'other'
/** Replaces all values of a hidden label. */
const every = 'all'

interface Series {
  readonly values: readonly string[]
  /** The value of a counter or gauge; the sum of a histogram. */
  sum: number
  /** Histogram counts per bucket (not cumulative); the last is +Inf. */
  readonly counts: Float64Array
}

/** One metric with all its series. */
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

  /**
   * Adds to a counter or gauge, or observes a histogram value. Ignores values that are not finite.
   */
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

  /** Maps label values to themselves or `other`. */
  bounded(values: readonly string[]): readonly string[] {
    const { labels } = this.definition
    if (labels.length === 0) return none
    return labels.map((label, index) => this.#bound(label, index, values[index]))
  }

  /** Sums series that differ only in hidden labels. */
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

  /** Avoids allocating for known series: this runs several times per call. */
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

/** All combinations of closed label sets, if there are few. */
function prepared({ labels, type }: MetricDefinition): readonly (readonly string[])[] {
  if (type === 'histogram' && labels.length > 0) return []
  let all: (readonly string[])[] = [[]]
  for (const { values } of labels) {
    if (typeof values === 'number') return []
    all = all.flatMap((before) => values.map((value) => [...before, value]))
  }
  return all.length > maxPrepared ? [] : all
}

/** Prometheus writes infinity as `+Inf`. */
function numberText(value: number): string {
  return String(value).replace(/^(-?)Infinity$/, (_, sign: string) => `${sign || '+'}Inf`)
}

function escapeValue(value: string): string {
  return value.replace(/[\\"\n]/g, (found) => (found === '\n' ? '\\n' : `\\${found}`))
}

/** Prometheus text format, without the values of hidden labels. */
export function printMetrics(metrics: Iterable<Metric>, hidden?: ReadonlySet<string>): string {
  return `${[...metrics].flatMap((metric) => metric.lines(hidden)).join('\n')}\n`
}

export const metricsContentType = 'text/plain; version=0.0.4; charset=utf-8'
