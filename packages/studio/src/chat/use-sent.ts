// Hook for the last request of a thread: what it shows of each message and why, and the cost so far.

import { useEffect } from 'react'
import { api } from '../api.ts'
import type { BlockRow, Form, Outline, ThreadSummary, TimelineStep } from '../contract.ts'
import { type Loaded, useLoad } from '../use-load.ts'

export interface Sent {
  readonly thread: ThreadSummary
  /** Messages of the last request. */
  readonly messages?: number
  readonly step?: TimelineStep
  /** The newest epoch of the thread. */
  readonly epoch?: {
    readonly step: number
    readonly edits: number
    readonly rules: readonly string[]
    readonly tokensSaved: number
  }
  /** How the last request shows the messages that it does not show in full, by log position. */
  readonly shown: ShownMessages
}

/** The most reduced form of a message's blocks, and why. */
export interface ShownAs {
  readonly form: Form
  readonly rule?: string
  readonly reason?: string
}

export interface ShownMessages {
  of(seq: number): ShownAs | undefined
}

export function useSent(thread: string | undefined, count: number, isBusy: boolean): Loaded<Sent> {
  const loaded = useLoad(thread, (signal) => load(thread ?? '', signal))
  // biome-ignore lint/correctness/useExhaustiveDependencies: asked again when the conversation grew or came to rest.
  useEffect(() => loaded.reload(), [count, isBusy, loaded.reload])
  return loaded
}

async function load(id: string, signal: AbortSignal): Promise<Sent> {
  const [thread, { steps }] = await Promise.all([
    api.thread(id, signal),
    api.timeline(id, undefined, signal),
  ])
  const step = steps.at(-1)
  const asked = { step: step?.step, have: undefined }
  const outline = step === undefined ? undefined : await api.outline(id, asked, signal)
  const last = steps.findLast((one) => one.epoch !== undefined)
  return {
    thread,
    ...(outline?.messages === undefined ? {} : { messages: outline.messages }),
    ...(step === undefined ? {} : { step }),
    ...(last?.epoch === undefined ? {} : { epoch: { step: last.step, ...last.epoch } }),
    shown: shownIn(outline),
  }
}

const forms: readonly Form[] = ['full', 'clipped', 'summarized', 'omitted', 'dropped']

/** What the rows say of each message; those of a run say it once for all of them. */
export function shownIn(outline: Pick<Outline, 'rows'> | undefined): ShownMessages {
  const single = new Map<number, ShownAs>()
  const runs: { readonly from: number; readonly to: number; readonly as: ShownAs }[] = []
  for (const row of outline?.rows ?? []) {
    if (row.type === 'folded') {
      runs.push({ from: row.from, to: row.to, as: why('dropped', row) })
    } else if (row.type === 'block' && row.form !== 'full') {
      const before = single.get(row.seq)?.form ?? 'full'
      if (forms.indexOf(row.form) > forms.indexOf(before)) single.set(row.seq, why(row.form, row))
    }
  }
  return {
    of: (seq) => single.get(seq) ?? runs.find(({ from, to }) => seq >= from && seq <= to)?.as,
  }
}

function why(form: Form, { rule, reason }: Pick<BlockRow, 'rule' | 'reason'>): ShownAs {
  return {
    form,
    ...(rule === undefined ? {} : { rule }),
    ...(reason === undefined ? {} : { reason }),
  }
}
