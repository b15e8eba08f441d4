// A strict reader of Prometheus' text format, version 0.0.4: everything that the format forbids is an error here.

export interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

export interface MetricFamily {
  readonly name: string
  readonly type: string
  readonly help: string
  readonly samples: readonly Sample[]
}

const namePattern = /^[a-zA-Z_:][a-zA-Z0-9_:]*$/
const labelPattern = /^[a-zA-Z_][a-zA-Z0-9_]*$/

export function readExposition(text: string): readonly MetricFamily[] {
  if (!text.endsWith('\n')) throw new Error('The last line has no end.')
  const families: { name: string; type: string; help: string; samples: Sample[] }[] = []
  const names = new Set<string>()
  const series = new Set<string>()
  let help: { name: string; text: string } | undefined
  for (const line of text.slice(0, -1).split('\n')) {
    if (line.startsWith('# HELP ')) {
      const [, name = '', words = ''] = /^# HELP (\S+) (.+)$/.exec(line) ?? []
      if (!namePattern.test(name) || /\\(?![\\n])/.test(words)) throw new Error(`HELP: ${line}`)
      help = { name, text: words }
    } else if (line.startsWith('# TYPE ')) {
      const [, name = '', type = ''] =
        /^# TYPE (\S+) (counter|gauge|histogram|summary|untyped)$/.exec(line) ?? []
      if (!namePattern.test(name) || help?.name !== name) throw new Error(`TYPE: ${line}`)
      if (names.has(name)) throw new Error(`${name} stands in two places.`)
      names.add(name)
      families.push({ name, type, help: help.text, samples: [] })
    } else {
      const sample = readSample(line)
      const family = families.at(-1)
      if (family === undefined || !belongs(sample, family)) throw new Error(`Not in place: ${line}`)
      const key = `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`
      if (series.has(key)) throw new Error(`Twice: ${line}`)
      series.add(key)
      family.samples.push(sample)
    }
  }
  for (const family of families) check(family)
  return families
}

function belongs({ name }: Sample, family: { name: string; type: string }): boolean {
  if (family.type !== 'histogram') return name === family.name
  return ['_bucket', '_sum', '_count'].some((suffix) => name === family.name + suffix)
}

function readSample(line: string): Sample {
  const [, name = '', inner, number = ''] =
    /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
  if (!namePattern.test(name)) throw new Error(`No sample: ${line}`)
  return { name, labels: readLabels(inner ?? '', line), value: readValue(number, line) }
}

function readLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = Object.create(null)
  let rest = text
  while (rest !== '') {
    const [all, name = '', value = ''] =
      /^([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)/.exec(rest) ?? []
    if (all === undefined || !labelPattern.test(name) || name in labels || name.startsWith('__')) {
      throw new Error(`Labels: ${line}`)
    }
    labels[name] = value.replace(/\\(["\\n])/g, (_, one: string) => (one === 'n' ? '\n' : one))
    rest = rest.slice(all.length)
  }
  return labels
}

function readValue(text: string, line: string): number {
  if (text === '+Inf') return Infinity
  if (!/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(text)) throw new Error(`Value: ${line}`)
  return Number(text)
}

function check({ name, type, samples }: MetricFamily): void {
  if (type === 'counter') {
    if (!name.endsWith('_total')) throw new Error(`${name} is a counter and does not say so.`)
    if (samples.some(({ value }) => value < 0)) throw new Error(`${name} is below zero.`)
  }
  if (type !== 'histogram') return
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const { le: _le, ...own } = sample.labels
    const key = JSON.stringify(own)
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  for (const group of groups.values()) checkHistogram(name, group)
}

function checkHistogram(name: string, group: readonly Sample[]): void {
  const buckets = group.filter((sample) => sample.name === `${name}_bucket`)
  const bounds = buckets.map(({ labels }) => (labels.le === '+Inf' ? Infinity : Number(labels.le)))
  const counts = buckets.map(({ value }) => value)
  const isRising = (list: readonly number[], isStrict: boolean): boolean =>
    list.every((one, at) => at === 0 || (list[at - 1] as number) < one + (isStrict ? 0 : 1e-9))
  const count = group.find((sample) => sample.name === `${name}_count`)?.value
  const hasSum = group.some((sample) => sample.name === `${name}_sum`)
  if (!isRising(bounds, true) || !isRising(counts, false) || bounds.at(-1) !== Infinity) {
    throw new Error(`The buckets of ${name} do not rise.`)
  }
  if (count === undefined || count !== counts.at(-1) || !hasSum) {
    throw new Error(`${name} does not add up.`)
  }
}
