// Script: replies in order, each with the ground truth of its request.

import type { Reply } from './reply.ts'
import type { Asked, Exchange } from './server.ts'

/** Ground truth of a request, as written in the script; other requests are named by their step. */
export type Truth =
  | 'new-thread'
  | 'other'
  | { readonly extends: string }
  | { readonly retry: string }
  /** Leaves the named request's thread `fromEnd` messages before this request's end, or at message `at`. */
  | { readonly fork: string; readonly fromEnd: number }
  | { readonly fork: string; readonly at: number }

export interface Step {
  readonly name: string
  readonly truth: Truth
  readonly reply: Reply
}

/** The same, with requests named by their position in the recording. */
export type Expected =
  | { readonly type: 'new-thread' }
  | { readonly type: 'other' }
  | { readonly type: 'extends'; readonly of: number }
  | { readonly type: 'retry'; readonly of: number }
  /** `at`: the index in this request's own list of its first message that the thread does not have. */
  | { readonly type: 'fork'; readonly of: number; readonly at: number }

export interface ScriptOptions {
  /** Names the queue that a request is answered from. @default always 'main' */
  readonly route?: (asked: Asked) => string
  /** Queues that give one answer for ever, to side calls. */
  readonly repeated?: Readonly<Record<string, Reply>>
}

/** Answers from several queues of steps and remembers which request got which. */
export class Script {
  readonly #repeated: Readonly<Record<string, Reply>>
  readonly #queues: Map<string, Step[]>
  readonly #served: Step[] = []
  readonly #route: (asked: Asked) => string

  constructor(queues: Readonly<Record<string, readonly Step[]>>, options: ScriptOptions = {}) {
    const { route = () => 'main', repeated = {} } = options
    this.#queues = new Map(Object.entries(queues).map(([name, steps]) => [name, [...steps]]))
    this.#route = route
    this.#repeated = repeated
  }

  /** The next answer. Running out is an error of the script, except for queues that are repeated. */
  answer(asked: Asked): Reply {
    const queue = this.#route(asked)
    const step = this.#queues.get(queue)?.shift() ?? this.#repeat(queue)
    this.#served.push(step)
    return step.reply
  }

  #repeat(queue: string): Step {
    const reply = this.#repeated[queue]
    if (reply === undefined) throw new Error(`Nothing left to answer in queue ${queue}`)
    return { name: `${queue} ${this.#served.length}`, truth: 'other', reply }
  }

  /** Names of steps that no request asked for. */
  get unused(): readonly string[] {
    return [...this.#queues.values()].flat().map((step) => step.name)
  }

  /** Ground truth of each request, in order of arrival. */
  expected(exchanges: readonly Exchange[]): readonly Expected[] {
    const positions = new Map(this.#served.map((step, index) => [step.name, index]))
    const find = (name: string): number => {
      const index = positions.get(name)
      if (index === undefined) throw new Error(`No request was answered by step ${name}`)
      return index
    }
    return this.#served.map(({ truth }, index) => {
      if (typeof truth === 'string') return { type: truth }
      if ('extends' in truth) return { type: 'extends', of: find(truth.extends) }
      if ('retry' in truth) return { type: 'retry', of: find(truth.retry) }
      const count = messagesOf(exchanges[index]?.body ?? {}).length
      const at = 'at' in truth ? truth.at : count - truth.fromEnd
      return { type: 'fork', of: find(truth.fork), at }
    })
  }
}

/** The list of messages or items of a request in any of the three formats. */
export function messagesOf(body: Readonly<Record<string, unknown>>): readonly unknown[] {
  const list = body.messages ?? body.input ?? []
  return Array.isArray(list) ? list : [list]
}
