// Chart over steps. Hovering shows a step's numbers at the pointer, a click opens it, dragging zooms, a double click zooms out.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export interface Line {
  readonly name: string
  /** A CSS colour variable, without the dashes. */
  readonly color: string
  readonly kind: 'line' | 'bars' | 'dashes' | 'area'
  readonly values: readonly (number | null)[]
  /** What is told of it, where it is stacked on others. @default the values */
  readonly own?: readonly (number | null)[]
}

export interface Mark {
  readonly step: number
  readonly color: string
  readonly text: string
  /** Written beside the mark, where there is room. */
  readonly label?: string
}

export interface ChartProps {
  readonly title: string
  /** Description for screen readers. */
  readonly summary: string
  readonly steps: readonly number[]
  readonly lines: readonly Line[]
  readonly marks: readonly Mark[]
  readonly format: (value: number) => string
  readonly onPick: (step: number) => void
}

const height = 220
const tooltipWidth = 230

export function Chart(props: ChartProps): ReactNode {
  const { title, summary } = props
  const box = useRef<HTMLDivElement>(null)
  const [hovered, setHovered] = useState<{ readonly at: number; readonly left: number }>()
  const latest = useRef(props)
  latest.current = props
  const [theme, setTheme] = useState(0)
  useEffect(() => {
    const onTheme = (): void => setTheme((before) => before + 1)
    const system = matchMedia('(prefers-color-scheme: dark)')
    addEventListener('oriel-theme', onTheme)
    system.addEventListener('change', onTheme)
    return () => {
      removeEventListener('oriel-theme', onTheme)
      system.removeEventListener('change', onTheme)
    }
  }, [])
  const { steps, lines, marks } = props
  // biome-ignore lint/correctness/useExhaustiveDependencies: drawn anew when the numbers or the colours change.
  useEffect(() => {
    const { current } = box
    if (current === null) return
    const plot = new uPlot(optionsOf(latest, current, setHovered), dataOf(latest.current), current)
    const pick = (event: MouseEvent): void => {
      // A drag has zoomed.
      if (Math.abs(event.clientX - pressed) > 4) return
      const step = plot.cursor.idx == null ? undefined : latest.current.steps[plot.cursor.idx]
      if (step !== undefined) latest.current.onPick(step)
    }
    let pressed = 0
    plot.over.addEventListener('mousedown', (event) => {
      pressed = event.clientX
    })
    plot.over.addEventListener('click', pick)
    const observer = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height }))
    observer.observe(current)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [steps, lines, marks, theme])
  return (
    <figure className="chart">
      <figcaption>
        {title}
        <Legend lines={lines} />
      </figcaption>
      <div className="plot" data-chart={title}>
        <div ref={box} role="img" aria-label={`${title}. ${summary}`} />
        {hovered !== undefined && <Hovered {...props} {...hovered} />}
      </div>
    </figure>
  )
}

function Legend({ lines }: Pick<ChartProps, 'lines'>): ReactNode {
  return (
    <ul className="chart-legend">
      {lines.map(({ name, color }) => (
        <li key={name}>
          <i className="dot" style={{ background: `var(--${color})` }} aria-hidden="true" /> {name}
        </li>
      ))}
    </ul>
  )
}

/** The numbers of the step at the pointer. */
function Hovered(props: ChartProps & { readonly at: number; readonly left: number }): ReactNode {
  const { at, left, lines, steps, marks, format } = props
  const step = steps[at]
  return (
    <div className="tooltip" style={{ left }} role="status">
      <b>Step {step}</b>
      {marks
        .filter((mark) => mark.step === step)
        .map(({ text, color }) => (
          <span key={text} className={`tooltip-mark mark-text-${color}`}>
            {text}
          </span>
        ))}
      {lines.map(({ name, color, values, own }) => {
        const value = (own ?? values)[at]
        return value == null ? null : (
          <span key={name}>
            <i className="dot" style={{ background: `var(--${color})` }} aria-hidden="true" />{' '}
            {name} <b>{format(value)}</b>
          </span>
        )
      })}
    </div>
  )
}

function dataOf({ steps, lines }: ChartProps): uPlot.AlignedData {
  return [[...steps], ...lines.map(({ values }) => [...values])] as uPlot.AlignedData
}

/** Resolves CSS colours of the current theme for the canvas. */
function readColors(box: HTMLElement): (name: string) => string {
  return (name) => {
    box.style.color = `var(--${name})`
    const { color } = getComputedStyle(box)
    box.style.color = ''
    return color
  }
}

function optionsOf(
  latest: { readonly current: ChartProps },
  box: HTMLElement,
  onHover: (hovered: { at: number; left: number } | undefined) => void,
): uPlot.Options {
  const { lines, format } = latest.current
  const styles = getComputedStyle(box)
  const color = readColors(box)
  const axis = {
    stroke: color('muted'),
    font: `11px ${styles.fontFamily}`,
    grid: { stroke: color('line'), width: 1 },
    ticks: { stroke: color('line'), width: 1 },
  }
  return {
    width: box.clientWidth,
    height,
    scales: { x: { time: false, range: (_, from, to) => [from - 0.5, to + 0.5] } },
    legend: { show: false },
    cursor: { drag: { x: true, y: false }, points: { size: 7 } },
    axes: [
      {
        ...axis,
        size: 30,
        incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
        values: (_, at) => at.map(String),
      },
      { ...axis, size: 56, values: (_, at) => at.map(format) },
    ],
    series: [
      { label: 'Step', value: (_, value) => (value == null ? '–' : String(value)) },
      ...lines.map(
        (line): uPlot.Series => ({
          label: line.name,
          stroke: color(line.color),
          width: line.kind === 'bars' || line.kind === 'area' ? 0 : 2,
          ...(line.kind === 'bars' ? barsOf(color(line.color)) : {}),
          ...(line.kind === 'area' ? { fill: color(line.color) } : {}),
          ...(line.kind === 'dashes' ? { dash: [5, 5] } : {}),
          points: { show: line.kind === 'line' && line.values.length < 80, size: 5 },
          value: (_, value) => (value == null ? '–' : format(value)),
        }),
      ),
    ],
    hooks: {
      draw: [(plot) => drawMarks(plot, latest.current.marks, color)],
      setCursor: [
        ({ cursor: { idx, left = -1 }, over }) => {
          const isOver = idx != null && left >= 0
          const widest = Math.max(0, over.clientWidth - tooltipWidth)
          onHover(isOver ? { at: idx, left: 56 + Math.min(left + 12, widest) } : undefined)
        },
      ],
    },
  }
}

function barsOf(fill: string): Pick<uPlot.Series, 'fill' | 'paths'> {
  const paths = uPlot.paths.bars?.({ size: [0.7, 60] })
  return paths === undefined ? { fill } : { fill, paths }
}

/**
 * Minimum distance of marks of one colour; closer marks are drawn short, so that they do not hide
 * the lines.
 */
const marksGap = 6
const shortMark = 6

function drawMarks(plot: uPlot, marks: readonly Mark[], color: (name: string) => string): void {
  const { ctx, bbox } = plot
  ctx.save()
  ctx.setLineDash([3, 3])
  ctx.lineWidth = 1
  for (const [name, group] of Map.groupBy(marks, (mark) => mark.color)) {
    const isDense = group.length * marksGap * devicePixelRatio > bbox.width
    const length = isDense ? shortMark * devicePixelRatio : bbox.height
    ctx.strokeStyle = color(name)
    for (const { step } of group) {
      const x = Math.round(plot.valToPos(step, 'x', true)) + 0.5
      ctx.beginPath()
      ctx.moveTo(x, bbox.top)
      ctx.lineTo(x, bbox.top + length)
      ctx.stroke()
    }
  }
  drawLabels(plot, marks, color)
  ctx.restore()
}

/** Space between two labels. */
const labelGap = 6

/** Labels at the top, those of folds first. One that would touch another is left out, and stays in the tooltip. */
function drawLabels(plot: uPlot, marks: readonly Mark[], color: (name: string) => string): void {
  const { ctx, bbox } = plot
  ctx.font = `${11 * devicePixelRatio}px ${getComputedStyle(document.body).fontFamily}`
  ctx.textBaseline = 'top'
  ctx.textAlign = 'left'
  const taken: (readonly [left: number, right: number])[] = []
  const isFold = (mark: Mark): number => (mark.color === 'compaction' ? 0 : 1)
  for (const { step, color: name, label } of marks.toSorted((a, b) => isFold(a) - isFold(b))) {
    if (label === undefined) continue
    const left = plot.valToPos(step, 'x', true) + 4 * devicePixelRatio
    const right = left + ctx.measureText(label).width
    const isOutside = left < bbox.left || right > bbox.left + bbox.width
    const gap = labelGap * devicePixelRatio
    if (isOutside || taken.some(([from, to]) => left < to + gap && right + gap > from)) continue
    taken.push([left, right])
    ctx.fillStyle = color('panel')
    ctx.globalAlpha = 0.8
    ctx.fillRect(left - 2, bbox.top, right - left + 4, 15 * devicePixelRatio)
    ctx.globalAlpha = 1
    ctx.fillStyle = color(name)
    ctx.fillText(label, left, bbox.top + 2 * devicePixelRatio)
  }
}
