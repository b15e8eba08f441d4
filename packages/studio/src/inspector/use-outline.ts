// The outline of a request, and the timeline: after a change only the differences are loaded.

import { useRef } from 'react'
import { api } from '../api.ts'
import type { Outline, OutlineAnswer, TimelineAnswer } from '../contract.ts'
import { type Loaded, useLoad } from '../use-load.ts'

/** The outline of a step; nothing without a thread. */
export function useOutline(
  thread: string | undefined,
  step: number | 'next' | undefined,
  version: number,
): Loaded<Outline> {
  const held = useRef<{ readonly thread: string; readonly outline: Outline }>(undefined)
  return useLoad(
    thread === undefined ? undefined : `${thread} ${step}`,
    async (signal) => {
      const id = thread ?? ''
      const before = held.current?.thread === id ? held.current.outline : undefined
      const answer = await api.outline(id, { step, have: before?.name }, signal)
      const outline = withBase(answer, before)
      held.current = { thread: id, outline }
      return outline
    },
    version,
  )
}

/** The whole outline, from the difference to the one before. Rows that stay are the same objects. */
export function withBase({ base, ...answer }: OutlineAnswer, before: Outline | undefined): Outline {
  if (base === undefined || before === undefined) return answer
  const { rows } = before
  const kept = [rows.slice(0, base.start), rows.slice(rows.length - base.end)] as const
  return { ...answer, rows: [...kept[0], ...answer.rows, ...kept[1]] }
}

/** The timeline of a thread. */
export function useTimeline(thread: string, version: number): Loaded<TimelineAnswer> {
  const held = useRef<{ readonly thread: string; readonly timeline: TimelineAnswer }>(undefined)
  return useLoad(
    thread,
    async (signal) => {
      const before = held.current?.thread === thread ? held.current.timeline : undefined
      const answer = await api.timeline(thread, before?.version, signal)
      const timeline = { ...answer, steps: withSteps(before?.steps ?? [], answer.steps) }
      held.current = { thread, timeline }
      return timeline
    },
    version,
  )
}

/** The steps with those that changed in their place. */
export function withSteps(
  before: TimelineAnswer['steps'],
  changed: TimelineAnswer['steps'],
): TimelineAnswer['steps'] {
  if (changed.length === 0) return before
  const steps = new Map(before.map((step) => [step.step, step]))
  for (const step of changed) steps.set(step.step, step)
  return [...steps.values()].sort((a, b) => a.step - b.step)
}
