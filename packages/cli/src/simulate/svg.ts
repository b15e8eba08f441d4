// Inline SVG plots.

import type { Step } from 'oriel/simulate'

export interface Point {
  readonly name: string
  /** Cost relative to no policy. */
  readonly x: number
  /** Share of facts that are visible. */
  readonly y: number
}

/** Escapes text for HTML and SVG. */
export function escapeText(text: string): string {
  return text
    .replaceAll(/\p{Cc}/gu, ' ')
    .toWellFormed()
    .replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`)
}

const plotSize = { width: 720, height: 380, left: 60, top: 16, right: 150, bottom: 44 }

/** Cost on the x axis, facts on the y axis: the upper left corner is best. */
export function plot(points: readonly Point[]): string {
  const { width, height, left, top, right, bottom } = plotSize
  const highest = Math.max(1, ...points.map(({ x }) => x)) * 1.05
  const lowest = Math.min(0.9, ...points.map(({ y }) => y)) - 0.01
  const toX = (x: number): number => left + (x / highest) * (width - left - right)
  const toY = (y: number): number => top + ((1 - y) / (1 - lowest)) * (height - top - bottom)
  const ticksX = ticks(0, highest, 5).map(
    (x) =>
      `<text x="${round(toX(x))}" y="${height - bottom + 18}" text-anchor="middle">${x.toFixed(2)}</text>`,
  )
  const ticksY = ticks(lowest, 1, 5).map(
    (y) =>
      `<text x="${left - 8}" y="${round(toY(y) + 4)}" text-anchor="end">${(100 * y).toFixed(1)}%</text>`,
  )
  const placed = points.map(({ name, x, y }) => ({ name, cx: round(toX(x)), cy: round(toY(y)) }))
  const labels = spread(placed, { lowest: height - bottom - 4, right: width })
  const dots = placed.map(({ name, cx, cy }, index) => {
    const label = labels[index] as (typeof labels)[number]
    const leader =
      Math.abs(label.y - cy - 4) < 2
        ? ''
        : `<path class="axis" fill="none" d="M${cx + 5} ${cy}L${label.x - 2} ${label.y - 4}"/>`
    return `<circle class="f${index % 8}" cx="${cx}" cy="${cy}" r="5"><title>${escapeText(name)}</title></circle>${leader}<text x="${label.x}" y="${label.y}">${escapeText(label.text)}</text>`
  })
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="Cost and visible facts of each policy">
<path class="axis" fill="none" d="M${left} ${top}V${height - bottom}H${width - right}"/>
${[...ticksX, ...ticksY, ...dots].join('\n')}
<text x="${(left + width - right) / 2}" y="${height - 6}" text-anchor="middle">cost, relative to doing nothing</text>
<text x="${left}" y="${top - 4}">facts visible</text>
</svg>`
}

/** Size of a label's letters, in pixels. */
const letter = { width: 7, height: 14 }

/** Moves labels down until none covers another, shortens them to the plot, and keeps their order. */
function spread(
  points: readonly { readonly name: string; readonly cx: number; readonly cy: number }[],
  edge: { readonly lowest: number; readonly right: number },
): readonly { readonly text: string; readonly x: number; readonly y: number }[] {
  const labels: { text: string; x: number; y: number }[] = []
  const placed: { text: string; x: number; y: number }[] = []
  const order = points.map((_, index) => index).sort((a, b) => top(a) - top(b))
  for (const index of order) {
    const { name, cx, cy } = points[index] as (typeof points)[number]
    const x = cx + 9
    const most = Math.max(4, Math.floor((edge.right - x) / letter.width))
    const text = name.length > most ? `${name.slice(0, most - 1)}…` : name
    const own = { text, x, y: cy + 4 }
    while (placed.some((other) => covers(own, other))) own.y += 1
    placed.push(own)
    labels[index] = own
  }
  // Too many near the lower edge: all of them move up together.
  const over = Math.max(0, ...placed.map(({ y }) => y)) - edge.lowest
  if (over > 0) for (const label of placed) label.y -= over
  return labels

  function top(index: number): number {
    return points[index]?.cy ?? 0
  }
}

type Label = { readonly text: string; readonly x: number; readonly y: number }

function covers(a: Label, b: Label): boolean {
  const isBeside =
    a.x + a.text.length * letter.width < b.x || b.x + b.text.length * letter.width < a.x
  return !isBeside && Math.abs(a.y - b.y) < letter.height
}

const lineSize = { width: 900, plot: 150, left: 60, top: 10 }
/** Row height of each policy's cache breaks. */
const breakRow = 7
/** Maximum points drawn; more are reduced to the maximum of each group. */
const shownPoints = 450

/** Tokens of every request under each policy, with cache breaks and missing facts. */
export function timeline(
  policies: readonly { readonly name: string; readonly steps: readonly Step[] }[],
): string {
  const { width, plot: body, left, top } = lineSize
  const bottom = 4 + breakRow * policies.length
  const height = top + body + bottom
  const count = Math.max(1, ...policies.map(({ steps }) => steps.length))
  const highest = Math.max(1, ...policies.flatMap(({ steps }) => steps.map(({ tokens }) => tokens)))
  const toX = (step: number): number => left + (step / Math.max(1, count - 1)) * (width - left - 10)
  const toY = (tokens: number): number => top + (1 - tokens / highest) * (height - top - bottom)
  const lines = policies.map(({ name, steps }, index) => {
    const points = thin(steps).map(
      ({ step, tokens }) => `${round(toX(step))},${round(toY(tokens))}`,
    )
    const base = height - bottom + 3 + index * breakRow
    const breaks = steps.flatMap(({ broken }, step) =>
      broken === undefined ? [] : [`M${round(toX(step))} ${base}v5`],
    )
    const missing = steps.flatMap(({ missing: count, tokens }, step) =>
      count === 0
        ? []
        : [
            `<circle class="f${index % 8}" cx="${round(toX(step))}" cy="${round(toY(tokens))}" r="2"/>`,
          ],
    )
    return `<g class="c${index % 8}"><title>${escapeText(name)}</title><polyline points="${points.join(' ')}"/>${breaks.length === 0 ? '' : `<path d="${breaks.join('')}"/>`}${missing.slice(0, shownPoints).join('')}</g>`
  })
  return `<svg viewBox="0 0 ${width} ${height}" width="${width}" role="img" aria-label="Tokens of each request">
<path class="axis" fill="none" d="M${left} ${top}V${height - bottom}H${width - 10}"/>
<text x="${left - 6}" y="${top + 8}" text-anchor="end">${highest.toLocaleString('en-US')}</text>
<text x="${left - 6}" y="${height - bottom}" text-anchor="end">0</text>
${lines.join('\n')}
</svg>`
}

function thin(
  steps: readonly Step[],
): readonly { readonly step: number; readonly tokens: number }[] {
  const all = steps.map(({ tokens }, step) => ({ step, tokens }))
  if (all.length <= shownPoints) return all
  const size = Math.ceil(all.length / shownPoints)
  return Array.from({ length: Math.ceil(all.length / size) }, (_, group) =>
    all
      .slice(group * size, (group + 1) * size)
      .reduce((largest, one) => (one.tokens > largest.tokens ? one : largest)),
  )
}

function ticks(from: number, to: number, count: number): readonly number[] {
  return Array.from({ length: count + 1 }, (_, index) => from + ((to - from) * index) / count)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
