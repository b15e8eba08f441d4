// Loaded into a process of `oriel serve` before the command: makes the task fail that its parent names by a message, in the part of the
// gateway, the library or the store that the task uses. Answers each message when the fault is set.

import { closeSync, openSync } from 'node:fs'
import { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { Worker } from 'node:worker_threads'
import { LogStore } from '../../../oriel/src/stores/create-store.ts'
import { BodyCache } from '../../src/call/body-cache.ts'
import { LearnedLimits } from '../../src/call/learned-limits.ts'
import { OverloadDetector } from '../../src/limits/overload.ts'
import { ObservedCall } from '../../src/telemetry/observed-call.ts'
import { EventBus } from '../../src/threads/event-bus.ts'

let faults = new Set((process.env.ORIEL_FAULTS ?? '').split(','))

function injected(): Error {
  return Object.assign(new Error('A canary.'), { code: 'EINJECTED' })
}

type Method = (this: unknown, ...given: never[]) => unknown

/** Replaces a method: `instead` is asked while the fault is set, and leaves everything that it is not about to the original. */
function replace<T extends object, K extends keyof T & string>(
  prototype: T,
  name: K,
  instead: (given: readonly unknown[], original: () => unknown) => unknown,
): void {
  const original = prototype[name] as Method
  const replaced = function (this: unknown, ...given: unknown[]): unknown {
    return instead(given, () => Reflect.apply(original, this, given))
  }
  Object.defineProperty(prototype, name, { value: replaced })
}

function failing<T extends object>(task: string, prototype: T, name: keyof T & string): void {
  replace(prototype, name, (_, original) => {
    if (faults.has(task)) throw injected()
    return original()
  })
}

interface Written {
  readonly type: string
  readonly kind?: string
  readonly name?: string
  readonly form?: string
}

/** Of appends that belong to a task in the background, its name. */
function taskOf(key: { tenant: string; thread: string }, entries: readonly Written[]): string {
  if (key.tenant.startsWith('index:')) {
    return key.thread === 'tenants' ? 'tenants' : 'thread-index'
  }
  if (entries.some(({ kind }) => kind === 'interrupted')) return 'answer-interrupted'
  const isSummary = ({ type, name = '' }: Written): boolean =>
    type === 'setting' && name.startsWith('summary/')
  if (entries.some(isSummary)) return 'summary'
  const isCheckpoint = ({ type }: Written): boolean => type === 'edit'
  return entries.length === 1 && entries.every(isCheckpoint) ? 'checkpoint' : 'none'
}

replace(LogStore.prototype, 'append', (given, original) => {
  const [key, entries] = given as [Parameters<typeof taskOf>[0], readonly Written[]]
  return faults.has(taskOf(key, entries)) ? Promise.reject(injected()) : original()
})
replace(Worker.prototype, 'postMessage', (given, original) => {
  const { type } = (given[0] ?? {}) as { readonly type?: unknown }
  if (faults.has('large-calls') && type === 'call') throw injected()
  return original()
})
failing('learned-limits', LearnedLimits.prototype, 'keep')
failing('snapshot', LogStore.prototype, 'saveSnapshot')
replace(LogStore.prototype, 'lease', async (_, original) => {
  const lease = (await original()) as { renew(): unknown; release(): unknown } | undefined
  if (!faults.has('lease') || lease === undefined) return lease
  const fail = (): never => {
    throw injected()
  }
  return { ...lease, renew: fail, release: fail }
})
let hear: ((change: unknown) => void) | undefined
replace(LogStore.prototype, 'watch', (given, original) => {
  const [listener] = given as [(change: unknown) => void]
  hear = listener
  return faults.has('changes') ? Promise.reject(injected()) : original()
})
failing('pressure', OverloadDetector.prototype, 'sample')
failing('known-bodies', BodyCache.prototype, 'keep')
failing('answer-end', ObservedCall.prototype, 'ended')
failing('client-connection', ServerResponse.prototype, 'writeHead')
replace(EventBus.prototype, 'stream', (given, original) => {
  const list = given as unknown[]
  const wants = list[1] as (notice: unknown) => boolean
  list[1] = (notice: unknown): boolean => {
    if (faults.has('live-updates')) throw injected()
    return wants(notice)
  }
  return original()
})

replace(LogStore.prototype, 'read', (given, original) => {
  const [{ tenant }] = given as [{ tenant: string }]
  // Settings of agents have a tenant of their own, whose name ends with that of their owner.
  if (faults.has('settings') && /.index:$/.test(tenant)) throw injected()
  return original()
})

let files: number[] = []

/** Opens as many files as the process may have. */
function exhaust(): void {
  try {
    for (;;) files.push(openSync('/dev/null', 'r'))
  } catch {
    // None is left.
  }
}

function release(): void {
  for (const file of files) closeSync(file)
  files = []
}

const acts: Readonly<Record<string, () => void>> = {
  'change without a tenant': () => hear?.({ type: 'changed' }),
  'unhandled rejection': () => void Promise.reject(injected()),
  'rejection that is no error': () => void Promise.reject(),
  // Nobody listens to its error.
  'socket error': () => void connect(1, '127.0.0.1'),
  'uncaught exception': () =>
    void setImmediate(() => {
      throw injected()
    }),
  'use up all files': exhaust,
  'close those files': release,
}

process.on('message', (message: { fault?: string; act?: string }) => {
  faults = new Set(message.fault === undefined ? [] : [message.fault])
  if (message.act !== undefined) acts[message.act]?.()
  process.send?.('done')
})
// The channel to the parent keeps nothing alive.
process.channel?.unref()
