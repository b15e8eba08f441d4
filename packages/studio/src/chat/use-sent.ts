// Hook for the last request of a thread, and its cost so far.

import { useEffect } from 'react'
import { api } from '../api.ts'
import type { Form, ThreadSummary, ThreadView, TimelineStep } from '../contract.ts'
import { type Loaded, useLoad } from '../use-load.ts'

export interface Sent {
  readonly thread: ThreadSummary
  /** The view as last sent. */
  readonly view?: ThreadView
  readonly step?: TimelineStep
  /** The newest epoch of the thread. */
  readonly epoch?: {
    readonly step: number
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  /** The most reduced form of each message's blocks, by log position. */
  readonly forms: ReadonlyMap<number, Form>
}

export function useSent(thread: string | undefined, count: number, isBusy: boolean): Loaded<Sent> {
  const loaded = useLoad(thread, (signal) => load(thread ?? '', signal))
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when the conversation grew or came to rest.
  useEffect(() => loaded.reload(), [count, isBusy, loaded.reload])
  return loaded
}

async function load(id: string, signal: AbortSignal): Promise<Sent> {
  const [thread, { steps }] = await Promise.all([api.thread(id, signal), api.timeline(id, signal)])
  const step = steps.at(-1)
  const view = step === undefined ? undefined : await api.view(id, step.step, signal)
  const last = steps.findLast((one) => one.epoch !== undefined)
  return {
    thread,
    ...(view === undefined ? {} : { view }),
    ...(step === undefined ? {} : { step }),
    ...(last?.epoch === undefined ? {} : { epoch: { step: last.step, ...last.epoch } }),
    forms: formsOf(view),
  }
}

function formsOf(view: ThreadView | undefined): ReadonlyMap<number, Form> {
  const order: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']
  const forms = new Map<number, Form>()
  for (const { seq, form } of view?.blocks ?? []) {
    const before = forms.get(seq) ?? 'full'
    if (order.indexOf(form) >= order.indexOf(before)) forms.set(seq, form)
  }
  return forms
}
