// Stands between a store and its server and breaks connections in the ways that networks do.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { createConnection, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `pass` forwards; `silent` takes everything and answers nothing; `refuse` ends every connection at once. */
export type WireMode = 'pass' | 'silent' | 'refuse'

export class Wire {
  readonly url: string
  mode: WireMode = 'pass'
  /** Called with every piece a client sends, before it is forwarded. */
  onRequest: ((text: string) => void) | undefined
  readonly #folder: string
  readonly #sockets = new Set<Socket>()
  readonly #server = createServer((client) => this.#connect(client))
  readonly #target: string
  /** Answers are dropped from now on, and with the next one the connection ends. */
  #isSwallowing = false

  private constructor(folder: string, target: string) {
    this.#folder = folder
    this.#target = target
    this.url = `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(folder)}`
  }

  static async open(socketFolder: string): Promise<Wire> {
    const folder = await mkdtemp(join(tmpdir(), 'oriel-proxy-'))
    const proxy = new Wire(folder, join(socketFolder, '.s.PGSQL.5432'))
    await new Promise<void>((resolve) => {
      proxy.#server.listen(join(folder, '.s.PGSQL.5432'), resolve)
    })
    return proxy
  }

  /** Resolves when a client has sent something. */
  whenAsked(): Promise<void> {
    return new Promise((resolve) => {
      this.onRequest = () => {
        this.onRequest = undefined
        resolve()
      }
    })
  }

  /** Ends every connection, without a word. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  /** The server gets the next request and answers; the client never hears of it. */
  swallowNextAnswer(): void {
    this.#isSwallowing = true
  }

  async close(): Promise<void> {
    this.cut()
    await new Promise<void>((resolve) => {
      this.#server.close(() => resolve())
    })
    rmSync(this.#folder, { recursive: true, force: true })
  }

  #connect(client: Socket): void {
    if (this.mode === 'refuse') {
      client.destroy()
      return
    }
    const server = createConnection(this.#target)
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => {})
    }
    const end = (): void => {
      for (const socket of [client, server]) {
        socket.destroy()
        this.#sockets.delete(socket)
      }
    }
    client.on('close', end)
    server.on('close', end)
    client.on('data', (data) => {
      this.onRequest?.(data.toString('latin1'))
      if (this.mode === 'pass') server.write(data)
    })
    server.on('data', (data) => {
      if (this.mode !== 'pass') return
      if (!this.#isSwallowing) {
        client.write(data)
        return
      }
      this.#isSwallowing = false
      end()
    })
  }
}
