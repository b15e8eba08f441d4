// Plots of a benchmark as SVG files: points, and lines on logarithmic axes.

export interface PlotPoint {
  readonly name: string
  readonly x: number
  readonly y: number
  /** Drawn in colour: ours. */
  readonly isOurs: boolean
}

export interface PlotOptions {
  readonly title: string
  readonly xLabel: string
  readonly yLabel: string
}

const width = 900
const height = 520
const left = 60
const right = 250
const top = 40
const bottom = 50

/** Points with numbers; the names stand in a list beside them, where none can hide another. */
export function scatter(points: readonly PlotPoint[], options: PlotOptions): string {
  const xs = points.map(({ x }) => x)
  const ys = points.map(({ y }) => y)
  const xMost = Math.ceil(Math.max(...xs) * 10) / 10
  const yLeast = Math.floor(Math.min(...ys) * 20) / 20
  const toX = (x: number): number => left + (x / xMost) * (width - left - right)
  const toY = (y: number): number => top + ((1 - y) / (1 - yLeast)) * (height - top - bottom)
  const ticks = [0, 0.25, 0.5, 0.75, 1]
  const marks = points.map(({ x, y, isOurs }, index) => {
    const [cx, cy] = [Math.round(toX(x)), Math.round(toY(y))]
    return `<circle cx="${cx}" cy="${cy}" r="8" fill="${isOurs ? '#0a6' : '#888'}"/><text x="${cx}" y="${cy + 3}" fill="#fff" text-anchor="middle" font-size="9">${index + 1}</text>`
  })
  const list = points.map(
    ({ name, isOurs }, index) =>
      `<text x="${width - right + 20}" y="${top + 16 * index}" fill="${isOurs ? '#0a6' : '#444'}">${index + 1} ${escapeText(name)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">
<title>${escapeText(options.title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${left}" y="20" font-size="14" fill="#222">${escapeText(options.title)}</text>
<path d="M${left} ${top}V${height - bottom}H${width - right}" fill="none" stroke="#999"/>
${ticks.map((share) => `<text x="${Math.round(toX(share * xMost))}" y="${height - bottom + 16}" text-anchor="middle" fill="#444">${(share * xMost).toFixed(2)}</text>`).join('\n')}
${ticks.map((share) => `<text x="${left - 6}" y="${Math.round(toY(1 - share * (1 - yLeast))) + 4}" text-anchor="end" fill="#444">${(100 * (1 - share * (1 - yLeast))).toFixed(0)} %</text>`).join('\n')}
<text x="${(left + width - right) / 2}" y="${height - 12}" text-anchor="middle" fill="#444">${escapeText(options.xLabel)}</text>
<text x="${left}" y="${top - 6}" fill="#444">${escapeText(options.yLabel)}</text>
${marks.join('\n')}
${list.join('\n')}
</svg>
`
}

/** One contender: its cost at each length. */
export interface PlotLine {
  readonly name: string
  readonly points: readonly (readonly [x: number, y: number])[]
  /** Drawn in colour: ours. */
  readonly isOurs: boolean
}

/** Lines on two logarithmic axes: what grows with the length rises, what does not is level. */
export function logLines(lines: readonly PlotLine[], options: PlotOptions): string {
  const all = lines.flatMap(({ points }) => points)
  const [xLow, xHigh] = decades(all.map(([x]) => x))
  const [yLow, yHigh] = decades(all.map(([, y]) => y))
  const toX = (x: number): number =>
    left + ((Math.log10(x) - xLow) / (xHigh - xLow)) * (width - left - right)
  const toY = (y: number): number =>
    height - bottom - ((Math.log10(y) - yLow) / (yHigh - yLow)) * (height - top - bottom)
  const round = (value: number): string => value.toFixed(1)
  const xTicks = ticksOf(xLow, xHigh).map(
    (x) =>
      `<path d="M${round(toX(x))} ${top}V${height - bottom}" stroke="#eee"/><text x="${round(toX(x))}" y="${height - bottom + 16}" text-anchor="middle" fill="#444">${x.toLocaleString('en-US')}</text>`,
  )
  const yTicks = ticksOf(yLow, yHigh).map(
    (y) =>
      `<path d="M${left} ${round(toY(y))}H${width - right}" stroke="#eee"/><text x="${left - 6}" y="${round(toY(y) + 4)}" text-anchor="end" fill="#444">${y}</text>`,
  )
  const drawn = lines.map(({ points, isOurs }, index) => {
    const path = points.map(
      ([x, y], at) => `${at === 0 ? 'M' : 'L'}${round(toX(x))} ${round(toY(y))}`,
    )
    const [lastX, lastY] = points.at(-1) ?? [1, 1]
    const colour = isOurs ? '#0a6' : '#888'
    return `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="2"/><text x="${round(toX(lastX) + 4)}" y="${round(toY(lastY) + 4)}" fill="${colour}">${index + 1}</text>`
  })
  const list = lines.map(
    ({ name, isOurs }, index) =>
      `<text x="${width - right + 30}" y="${top + 16 * index}" fill="${isOurs ? '#0a6' : '#444'}">${index + 1} ${escapeText(name)}</text>`,
  )
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="system-ui, sans-serif" font-size="11">
<title>${escapeText(options.title)}</title>
<rect width="${width}" height="${height}" fill="#fff"/>
<text x="${left}" y="20" font-size="14" fill="#222">${escapeText(options.title)}</text>
${xTicks.join('\n')}
${yTicks.join('\n')}
<path d="M${left} ${top}V${height - bottom}H${width - right}" fill="none" stroke="#999"/>
<text x="${(left + width - right) / 2}" y="${height - 12}" text-anchor="middle" fill="#444">${escapeText(options.xLabel)}</text>
<text x="${left}" y="${top - 6}" fill="#444">${escapeText(options.yLabel)}</text>
${drawn.join('\n')}
${list.join('\n')}
</svg>
`
}

/** Whole powers of ten around the values. */
function decades(values: readonly number[]): readonly [number, number] {
  const low = Math.floor(Math.log10(Math.min(...values)))
  return [low, Math.max(low + 1, Math.ceil(Math.log10(Math.max(...values))))]
}

function ticksOf(low: number, high: number): readonly number[] {
  return Array.from({ length: high - low + 1 }, (_, index) => Number(`1e${low + index}`))
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}
