// Judging relevance by a function of the host's that takes time: proposed by the rule, run as jobs, kept as entries of the log.

import type { Entry } from '../core/log/entry.ts'
import { settings } from '../core/log/settings.ts'
import { lexicalRelevance, type Relevance, type RelevanceJudge } from '../rules/relevance.ts'
import { sha256 } from '../sha256.ts'
import { deferred } from './deferred.ts'
import type { Journal, Stamp } from './journal/journal.ts'
import type { Jobs } from './summaries/jobs.ts'

type Judged = Parameters<Relevance>[0]

interface Wish {
  readonly result: Judged
  readonly recent: string
}

/** The host's function, which never throws at once. */
export interface Judge {
  readonly ask: RelevanceJudge
  /** Whether it is declared to take time (an async function); else its first answer tells. */
  readonly isAsync: boolean
}

export interface JudgmentsOptions {
  readonly judge: Judge
  readonly jobs: Jobs
  /** Told of a judgment that failed: the score by shared words is used. */
  readonly onFailed: (error: unknown) => void
}

const noNumber = 'The judge answered no number.'

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function'
}

/** Judgments that are remembered beside the log until a view keeps them. */
const remembered = 10_000

/** The judgments of one branch. A judge that answers at once is asked in passing; one that takes time, never by a rule. */
export class Judgments {
  readonly #options: JudgmentsOptions
  readonly #known = new Map<string, number>()
  readonly #fresh = new Map<string, number>()
  readonly #running = new Map<string, Promise<void>>()
  #wanted = new Map<string, Wish>()
  #isSlow: boolean
  #until = Infinity

  constructor(options: JudgmentsOptions) {
    this.#options = options
    this.#isSlow = options.judge.isAsync
  }

  /** What a rule asks: a score, or undefined while there is none, which keeps the result. */
  judgeIn(journal: Journal): Relevance {
    return (result, recent) => {
      const key = sha256(JSON.stringify([result.tool, result.text, recent])).slice(0, 32)
      const known = journal.setting(settings.relevance.at(key)) ?? this.#known.get(key)
      if (known !== undefined) return known
      if (this.#running.has(key)) return undefined
      const wish = { result, recent }
      if (this.#isSlow) {
        this.#wanted.set(key, wish)
        return undefined
      }
      const control = new AbortController()
      const answer: unknown = this.#options.judge.ask(result, recent, { signal: control.signal })
      if (typeof answer === 'number') return answer
      if (!isThenable(answer)) return this.#failed(new TypeError(noNumber), wish)
      this.#isSlow = true
      // The job may start later: an answer that fails before is nobody's failure yet.
      const promised = Promise.resolve(answer as PromiseLike<number>)
      promised.catch(() => undefined)
      const job = (signal: AbortSignal): Promise<number> => {
        signal.addEventListener('abort', () => control.abort())
        return promised
      }
      this.#run(key, wish, job, this.#until)
      return undefined
    }
  }

  /** When the jobs of the view that is made now fail. */
  limit(until: number): void {
    this.#until = until
  }

  /** Starts the jobs that rules asked for since. */
  start(): void {
    const wanted = this.#wanted
    this.#wanted = new Map()
    for (const [key, wish] of wanted) {
      const { result, recent } = wish
      this.#run(
        key,
        wish,
        (signal) => this.#options.judge.ask(result, recent, { signal }),
        this.#until,
      )
    }
  }

  /** Resolves when all jobs are over, or at the time `until`: what is not there then has the score by shared words. */
  async settled(until: number): Promise<void> {
    if (this.#running.size === 0) return
    const timer = deferred<void>()
    const late = setTimeout(timer.resolve, Math.max(0, until - performance.now()))
    await Promise.race([Promise.all(this.#running.values()), timer.promise])
    clearTimeout(late)
  }

  /** Whether jobs are under way or wanted. */
  get isBusy(): boolean {
    return this.#running.size + this.#wanted.size > 0
  }

  /** The judgments that the log does not hold yet. */
  entries(journal: Journal, stamp: Stamp): readonly Entry[] {
    return [...this.#fresh].flatMap(([key, score]) => {
      const own = settings.relevance.at(key)
      return journal.setting(own) === undefined ? [stamp.entry(own.body(score))] : []
    })
  }

  /** Called when they are kept. */
  kept(): void {
    this.#fresh.clear()
  }

  /** The score by shared words, where the judge has none. */
  #failed(error: unknown, { result, recent }: Wish): number {
    this.#options.onFailed(error)
    return lexicalRelevance(result, recent) ?? 1
  }

  #run(
    key: string,
    wish: Wish,
    job: (signal: AbortSignal) => number | Promise<number>,
    until: number,
  ): void {
    const { jobs } = this.#options
    const run = async (): Promise<void> => {
      let score: number
      try {
        score = await jobs.run(`relevance:${key}`, async (signal) => job(signal), { until })
        if (typeof score !== 'number') throw new TypeError(noNumber)
      } catch (error) {
        score = this.#failed(error, wish)
      }
      // JSON has no NaN; it keeps the result, as a full score does.
      this.#keep(key, Number.isFinite(score) ? score : 1)
      this.#running.delete(key)
    }
    this.#running.set(key, run())
  }

  #keep(key: string, score: number): void {
    this.#known.set(key, score)
    this.#fresh.set(key, score)
    for (const map of [this.#known, this.#fresh]) {
      if (map.size > remembered) map.delete(map.keys().next().value as string)
    }
  }
}
