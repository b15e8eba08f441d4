// A gateway that dies again and again within one process, with six clients that continue: many more deaths in the same time than with kill -9.

import { createGateway, serveGateway } from '@oriel/gateway'
import { memoryStore, type Store } from 'oriel'
import { startUpstream, type Upstream } from '../upstream/upstream.ts'
import { answerTo, type Conversation, sixConversations } from './conversation.ts'
import { problemsIn } from './log-checks.ts'
import { type Death, mortalStore } from './mortal-store.ts'

export class ShortLives {
  readonly #store: Store = memoryStore()
  readonly #upstream: Upstream
  readonly conversations: readonly Conversation[] = sixConversations()

  private constructor(upstream: Upstream) {
    this.#upstream = upstream
  }

  static async open(): Promise<ShortLives> {
    return new ShortLives(await startUpstream({ answer: answerTo }))
  }

  /** One life, up to the n-th write. */
  async live(writes: number, death: Death): Promise<void> {
    const { store, isAlive, died } = mortalStore(this.#store, writes, death)
    const gateway = createGateway({
      store,
      upstreams: [{ name: 'test', baseUrl: this.#upstream.url }],
      limits: { lateMs: 0 },
      log: () => {},
    })
    const server = await serveGateway(gateway, { port: 0, drainMs: 1 })
    const talk = this.conversations.map((one) =>
      one.goOn(server.url, { isAlive, answers: Infinity }),
    )
    await died
    // Nobody waits for what a dead process would still do.
    server.close().catch(() => undefined)
    await Promise.all(talk)
  }

  /** What does not hold, none if all is well. */
  async violations(): Promise<readonly string[]> {
    const problems = await problemsIn(this.#store, this.conversations)
    return [...problems, ...this.#upstream.breaches]
  }

  close(): Promise<void> {
    return this.#upstream.close()
  }
}

export const deaths: readonly Death[] = ['before', 'after', 'late']
