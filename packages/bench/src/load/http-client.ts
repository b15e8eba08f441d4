// Minimal HTTP/1.1 client: keep-alive connections, prepared request bytes, minimal response
// parsing.

import { connect, type Socket } from 'node:net'
import { timeDigits, timeMark } from './answers.ts'

export interface Outcome {
  /** 0 if there was no response. */
  readonly status: number
  /** Times of `performance.now()`. */
  readonly firstByteAt: number
  readonly firstTextAt: number
  readonly endedAt: number
  /** Chunks of text in a stream. */
  readonly chunks: number
  /** Time of each chunk from the mock upstream to here. */
  readonly delaysMs: readonly number[]
  readonly hasRetryAfter: boolean
  /** The response was complete. */
  readonly isWhole: boolean
}

export interface Exchange {
  readonly request: readonly Buffer[]
  /** Count and time chunks. */
  readonly isStream: boolean
  /** Expected in the last bytes of a stream. */
  readonly lastWord: string
  onEnd(outcome: Outcome): void
}

/** Timeout of a response. */
const maxAnswerMs = 60_000
/** Connections idle for longer are not reused, because servers close them. */
const maxIdleMs = 2500

/** Connections to one server. */
export class HttpClient {
  readonly #port: number
  readonly #idle: Connection[] = []
  readonly #all = new Set<Connection>()

  constructor(port: number) {
    this.#port = port
  }

  get open(): number {
    return this.#all.size
  }

  send(exchange: Exchange): void {
    let connection = this.#idle.pop()
    while (connection !== undefined && !connection.isUsable) {
      connection.destroy()
      connection = this.#idle.pop()
    }
    if (connection === undefined) {
      connection = new Connection(this.#port, {
        onFree: (one) => this.#idle.push(one),
        onGone: (one) => this.#all.delete(one),
      })
      this.#all.add(connection)
    }
    connection.send(exchange)
  }

  close(): void {
    for (const one of this.#all) one.destroy()
    this.#idle.length = 0
  }
}

type Part = 'none' | 'head' | 'sized' | 'chunk-head' | 'chunk' | 'chunk-end' | 'trailer' | 'open'

interface Listeners {
  onFree(connection: Connection): void
  onGone(connection: Connection): void
}

class Connection {
  readonly #socket: Socket
  readonly #listeners: Listeners
  #exchange: Exchange | undefined
  #part: Part = 'none'
  #held: Buffer = Buffer.alloc(0)
  #left = 0
  #isClosing = false
  #timer: NodeJS.Timeout | undefined
  #tail: Buffer = Buffer.alloc(0)
  #hasLastWord = false
  #freeAt = performance.now()
  #isGone = false
  #seen = { status: 0, firstByteAt: 0, firstTextAt: 0, chunks: 0, hasRetryAfter: false }
  #delaysMs: number[] = []

  constructor(port: number, listeners: Listeners) {
    this.#listeners = listeners
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('data', (data) => this.#take(data))
    this.#socket.on('error', () => undefined)
    this.#socket.on('close', () => this.#gone())
  }

  get isUsable(): boolean {
    return !this.#isGone && performance.now() - this.#freeAt < maxIdleMs
  }

  send(exchange: Exchange): void {
    this.#exchange = exchange
    this.#hasLastWord = false
    this.#part = 'head'
    this.#seen = { status: 0, firstByteAt: 0, firstTextAt: 0, chunks: 0, hasRetryAfter: false }
    this.#delaysMs = []
    this.#tail = Buffer.alloc(0)
    this.#socket.cork()
    for (const part of exchange.request) this.#socket.write(part)
    this.#socket.uncork()
    this.#timer = setTimeout(() => this.destroy(), maxAnswerMs)
  }

  destroy(): void {
    this.#socket.destroy()
  }

  #gone(): void {
    this.#isGone = true
    this.#listeners.onGone(this)
    if (this.#exchange !== undefined) this.#end(this.#part === 'open')
  }

  #take(data: Buffer): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    this.#seen.firstByteAt ||= performance.now()
    if (exchange.isStream) this.#look(data, exchange.lastWord)
    let rest: Buffer = this.#held.length === 0 ? data : Buffer.concat([this.#held, data])
    this.#held = Buffer.alloc(0)
    while (rest.length > 0 && this.#exchange !== undefined) {
      const used = this.#step(rest)
      if (used === 0) {
        this.#held = rest
        return
      }
      rest = rest.subarray(used)
    }
  }

  /** Parses one part of the response; returns the bytes consumed, 0 if it needs more. */
  #step(data: Buffer): number {
    switch (this.#part) {
      case 'head':
        return this.#readHead(data)
      case 'sized':
      case 'chunk': {
        const used = Math.min(this.#left, data.length)
        this.#left -= used
        if (this.#left === 0) {
          if (this.#part === 'chunk') this.#part = 'chunk-end'
          else this.#end(true)
        }
        return used
      }
      case 'chunk-head': {
        const end = data.indexOf('\r\n')
        if (end === -1) return 0
        this.#left = Number.parseInt(data.toString('latin1', 0, end), 16)
        this.#part = this.#left === 0 ? 'trailer' : 'chunk'
        return end + 2
      }
      case 'chunk-end':
        if (data.length < 2) return 0
        this.#part = 'chunk-head'
        return 2
      case 'trailer': {
        const end = data.indexOf('\r\n')
        if (end === -1) return 0
        if (end === 0) this.#end(true)
        return end + 2
      }
      default:
        return data.length
    }
  }

  #readHead(data: Buffer): number {
    const end = data.indexOf('\r\n\r\n')
    if (end === -1) return 0
    const head = data.toString('latin1', 0, end)
    this.#seen.status = Number(head.slice(9, 12))
    this.#seen.hasRetryAfter = /\r\nretry-after:/i.test(head)
    this.#isClosing = /\r\nconnection: *close/i.test(head)
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)
    if (/\r\ntransfer-encoding: *chunked/i.test(head)) this.#part = 'chunk-head'
    else if (length === null) this.#part = 'open'
    else {
      this.#part = 'sized'
      this.#left = Number(length[1])
      if (this.#left === 0) this.#end(true)
    }
    return end + 4
  }

  /** Counts and times the chunks of a stream. */
  #look(data: Buffer, lastWord: string): void {
    const now = Number(process.hrtime.bigint() / 1000n)
    const text = this.#tail.length === 0 ? data : Buffer.concat([this.#tail, data])
    let from = 0
    for (;;) {
      const found = text.indexOf(timeMark, from)
      const end = found + timeMark.length + timeDigits
      if (found === -1 || end > text.length) break
      const sent = Number(text.toString('latin1', found + timeMark.length, end))
      this.#delaysMs.push((now - sent) / 1000)
      this.#seen.firstTextAt ||= performance.now()
      this.#seen.chunks += 1
      from = end
    }
    this.#hasLastWord ||= text.includes(lastWord, from)
    // Keep enough to find a mark that was split.
    this.#tail = text.subarray(Math.max(from, text.length - 60))
  }

  #end(isEnded: boolean): void {
    const exchange = this.#exchange
    if (exchange === undefined) return
    clearTimeout(this.#timer)
    this.#exchange = undefined
    this.#part = 'none'
    const isWhole =
      isEnded && (!exchange.isStream || this.#seen.status !== 200 || this.#hasLastWord)
    if (this.#isClosing || !isEnded) this.#socket.destroy()
    else if (!this.#isGone) {
      this.#freeAt = performance.now()
      this.#listeners.onFree(this)
    }
    exchange.onEnd({
      ...this.#seen,
      endedAt: performance.now(),
      delaysMs: this.#delaysMs,
      isWhole,
    })
  }
}
