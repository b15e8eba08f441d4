// Virtual list: only visible rows are in the DOM. Rows have variable heights and are measured when
// rendered.

import {
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useReducer,
  useRef,
} from 'react'
import { RowLayout } from './row-layout.ts'

export interface VirtualListProps {
  /** Accessible name of the list. */
  readonly label: string
  readonly count: number
  /** Estimated height of an unmeasured row. */
  readonly guess: number
  /** Changes with the list; heights and scroll position are reset. */
  readonly resetKey: string
  readonly keyOf: (index: number) => string
  readonly renderRow: (index: number) => ReactNode
  /** The initial row, until the user scrolls. @default the first */
  readonly start?: number
  /** A row to scroll to, each time the number changes. */
  readonly scrollTo?: number | undefined
}

/** Rows rendered beyond each edge, for fast scrolling. */
const overscan = 4

export function VirtualList(props: VirtualListProps): ReactNode {
  const { label, count, guess, keyOf, renderRow, start = 0, scrollTo, resetKey } = props
  const box = useRef<HTMLDivElement>(null)
  const [, render] = useReducer((before: number) => before + 1, 0)
  const layout = useLayout(count, guess, resetKey)
  useRowSizes(box, layout, render)
  useScrolling(box, layout, { start, scrollTo }, render)
  const top = box.current?.scrollTop ?? 0
  const height = box.current?.clientHeight ?? 800
  const first = Math.max(0, layout.indexAt(top) - overscan)
  const last = Math.min(count - 1, layout.indexAt(top + height) + overscan)
  const rows: ReactNode[] = []
  for (let index = first; index <= last; index++) {
    rows.push(
      <li
        key={keyOf(index)}
        className="virtual-row"
        aria-setsize={count}
        aria-posinset={index + 1}
        data-row={index}
        style={{ transform: `translateY(${layout.topOf(index)}px)` }}
      >
        {renderRow(index)}
      </li>,
    )
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard.
    <section className="virtual-list" ref={box} aria-label={label} tabIndex={0} onScroll={render}>
      <ul className="virtual-rows" aria-label={label} style={{ height: layout.total }}>
        {rows}
      </ul>
    </section>
  )
}

function useLayout(count: number, guess: number, resetKey: string): RowLayout {
  const held = useRef<{ layout: RowLayout; resetKey: string }>(undefined)
  if (held.current === undefined || held.current.resetKey !== resetKey) {
    held.current = { layout: new RowLayout(count, guess), resetKey }
  }
  const { layout } = held.current
  layout.resize(count)
  return layout
}

type Box = RefObject<HTMLDivElement | null>

/** Measures rendered rows. Visible rows stay in place when rows above them turn out taller. */
function useRowSizes(box: Box, layout: RowLayout, render: () => void): void {
  const measure = useCallback(() => {
    const { current } = box
    if (current === null) return
    let above = 0
    let hasChanged = false
    for (const row of current.querySelectorAll<HTMLElement>(':scope > * > .virtual-row')) {
      const index = Number(row.dataset.row)
      const isAbove = layout.topOf(index + 1) <= current.scrollTop
      const difference = layout.measure(index, row.offsetHeight)
      if (difference === 0) continue
      hasChanged = true
      if (isAbove) above += difference
    }
    if (above !== 0) current.scrollTop += above
    if (hasChanged) render()
  }, [box, layout, render])
  useLayoutEffect(measure)
  useEffect(() => {
    if (box.current === null) return
    // Rows are as wide as the list, so its resize changes their heights.
    const observer = new ResizeObserver(() => render())
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [box, render])
}

/** Attempts to scroll to a row: each measures rows around it that differ from their estimate. */
const attempts = 5

interface Wish {
  readonly start: number
  readonly scrollTo: number | undefined
}

/**
 * Scrolls a row into view. A list at its end follows new rows; one that the user has scrolled
 * stays.
 */
function useScrolling(
  box: Box,
  layout: RowLayout,
  { start, scrollTo }: Wish,
  render: () => void,
): void {
  const wanted = useRef({ index: -1, left: 0 })
  const isMoved = useRef(false)
  const isAtEnd = useRef(false)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list begins anew.
  useLayoutEffect(() => {
    isMoved.current = false
    isAtEnd.current = false
  }, [layout])
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list is another wish.
  useLayoutEffect(() => {
    if (scrollTo === undefined) return
    wanted.current = { index: scrollTo, left: attempts }
    isMoved.current = true
  }, [layout, scrollTo])
  // biome-ignore lint/correctness/useExhaustiveDependencies: a row that is no longer wanted leaves the list where it is.
  useLayoutEffect(() => {
    if (scrollTo !== undefined || (isMoved.current && !isAtEnd.current)) return
    wanted.current = { index: start, left: attempts }
  }, [layout, start])
  useLayoutEffect(() => {
    const { current } = box
    if (current === null) return
    const wish = wanted.current
    const before = current.scrollTop
    // A list that begins at its end stays there while its rows get their texts, until somebody scrolls.
    const isFollowing = !isMoved.current && wish.index === layout.count - 1
    if (wish.index >= 0 && (wish.left > 0 || isFollowing)) {
      wish.left -= 1
      current.scrollTop = goalOf(layout, wish.index, current)
    }
    isAtEnd.current = current.scrollTop + current.clientHeight >= layout.total - 1
    if (current.scrollTop !== before) render()
  })
  useEffect(() => {
    const { current } = box
    // User scrolling takes precedence.
    const release = (): void => {
      wanted.current.left = 0
      isMoved.current = true
    }
    const moves = ['wheel', 'pointerdown', 'keydown'] as const
    for (const move of moves) current?.addEventListener(move, release, { passive: true })
    return () => {
      for (const move of moves) current?.removeEventListener(move, release)
    }
  }, [box])
}

/**
 * Scroll target: none if the row is visible, the end for the last row, else slightly above the row.
 */
function goalOf(layout: RowLayout, index: number, box: HTMLElement): number {
  const [top, bottom] = [layout.topOf(index), layout.topOf(index + 1)]
  if (index === layout.count - 1) return layout.total
  if (top >= box.scrollTop && bottom <= box.scrollTop + box.clientHeight) return box.scrollTop
  return Math.max(0, top - box.clientHeight / 4)
}
