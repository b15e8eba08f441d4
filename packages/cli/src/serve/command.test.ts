import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lintPolicy } from 'oriel'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Terminal } from '../terminal.ts'
import { serve } from './command.ts'
import { readServeSettings } from './settings.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-serve-'))
})

afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function* nothing(): AsyncGenerator<Uint8Array> {}

function terminal(): { world: Terminal; printed: () => string } {
  let text = ''
  const out = {
    write: (part: string) => {
      text += part
    },
  }
  return {
    world: { stdin: nothing(), stdout: out, stderr: out, env: {}, now: () => 0 },
    printed: () => text,
  }
}

function file(name: string, value: unknown): string {
  const path = join(folder, name)
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
  return path
}

describe('oriel serve', () => {
  it('[GW20] does not start with a file that is no store, and leaves it as it is', async () => {
    const { world, printed } = terminal()
    const store = file('notes.txt', 'not a store')
    const settings = readServeSettings({ port: 0, store }, {})
    await expect(serve(settings, world, Promise.resolve())).rejects.toThrow(/is not a store of/)
    expect(printed()).toBe('')
    expect(readFileSync(store, 'utf8')).toBe('not a store')
  })

  it('[GW20] warns where everybody may write to the folder, and where others may read the database', async () => {
    const { world, printed } = terminal()
    const data = join(folder, 'open')
    mkdirSync(data)
    chmodSync(data, 0o777)
    writeFileSync(join(data, 'oriel.db'), '', { mode: 0o644 })
    const settings = readServeSettings({ port: 0, data }, {})
    expect(await serve(settings, world, Promise.resolve())).toBe(0)
    expect(printed()).toContain(`warning: Everybody may write to the folder ${data} (mode 777)`)
    expect(printed()).toMatch(
      /warning: Others than the owner may read or write oriel\.db \(mode 644\)/,
    )
  })

  it('[DA8] warns of limits that contradict each other, once and one line each', async () => {
    const { world, printed } = terminal()
    const policy = join(folder, 'contradicting.json')
    const history = { maxMessages: 4, keepRecentMessages: 9 }
    writeFileSync(policy, JSON.stringify({ history }))
    const settings = readServeSettings({ port: 0, data: join(folder, 'lint'), policy }, {})
    expect(await serve(settings, world, Promise.resolve())).toBe(0)
    const lines = printed()
      .split('\n')
      .filter((line) => line.includes('warning: policy'))
    expect(lines).toEqual(
      lintPolicy({ history }).map(
        ({ path, message }) => `oriel serve: warning: policy, ${path}: ${message}`,
      ),
    )
    expect(lines.length).toBeGreaterThan(0)
  })

  it('[DA8] says nothing of the default policy', async () => {
    const { world, printed } = terminal()
    const settings = readServeSettings({ port: 0, data: join(folder, 'plain') }, {})
    expect(await serve(settings, world, Promise.resolve())).toBe(0)
    expect(printed()).not.toContain('warning: policy')
  })

  it('[GW20] starts without any configuration, answers from the demo, and keeps what was said', async () => {
    const { world, printed } = terminal()
    const { promise, resolve } = Promise.withResolvers<void>()
    const data = join(folder, 'data')
    const settings = readServeSettings({ port: 0, data }, {})
    const running = serve(settings, world, promise)
    while (!printed().includes('Ctrl-C')) await new Promise((go) => setTimeout(go, 5))
    const url = /listens on (http:\S+)/.exec(printed())?.[1] ?? ''
    const ask = (): Promise<Response> =>
      fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hello' }] }),
      })
    const response = await ask()
    expect(response.status).toBe(200)
    expect(response.headers.get('x-oriel-thread')).toMatch(/./)
    const { threads } = (await (await fetch(`${url}/api/threads`)).json()) as { threads: unknown[] }
    expect(threads).toHaveLength(1)
    resolve()
    expect(await running).toBe(0)
    await expect(ask()).rejects.toThrow()
    expect(existsSync(join(data, 'oriel.db'))).toBe(true)
    expect(statSync(data).mode & 0o077).toBe(0)
  })

  it('[GW20] takes its settings from a file, and what is typed over them', () => {
    const config = file('oriel.json', {
      port: 5000,
      upstreams: [{ name: 'main', baseUrl: 'https://api.example.com', key: '$MAIN_KEY' }],
      keys: [{ name: 'team', key: '$TEAM_KEY' }],
      policy: { history: { length: 3 } },
      data: 'kept',
    })
    const env = { MAIN_KEY: 'sk-secret', TEAM_KEY: 'a-key-that-is-long-enough' }
    const settings = readServeSettings({ config, policy: 'history-window' }, env)
    expect(settings).toMatchObject({
      port: 5000,
      host: '127.0.0.1',
      path: join(folder, 'kept', 'oriel.db'),
      gateway: {
        upstreams: [{ name: 'main', key: 'sk-secret' }],
        keys: [{ name: 'team', key: 'a-key-that-is-long-enough' }],
        policy: 'history-window',
      },
    })
    expect(() => readServeSettings({ config }, {})).toThrow(/MAIN_KEY, which is not set/)
  })

  it('[GX10] takes expand from the file, an agent and the command line', () => {
    const config = file('oriel.json', { expand: true, limits: { expandRounds: 2, expandMs: 1000 } })
    expect(readServeSettings({ config }, {}).gateway).toMatchObject({
      expand: true,
      limits: { expandRounds: 2, expandMs: 1000 },
    })
    expect(readServeSettings({ expand: true }, {}).gateway.expand).toBe(true)
    expect(readServeSettings({}, {}).gateway.expand).toBeUndefined()
    const modes = ['always', 'auto', 'never'].map(
      (expand) => readServeSettings({ expand }, {}).gateway.expand,
    )
    expect(modes).toEqual([true, 'auto', false])
    expect(() => readServeSettings({ expand: 'yes' }, {})).toThrow(/allowed: auto, always, never/)
    const auto = file('auto.json', { expand: 'auto' })
    expect(readServeSettings({ config: auto, expand: 'never' }, {}).gateway.expand).toBe(false)
    expect(readServeSettings({ config: auto }, {}).gateway.expand).toBe('auto')
    const wrong = file('wrong.json', { expand: 'yes' })
    expect(() => readServeSettings({ config: wrong }, {})).toThrow(/at expand/)
  })

  it('[GW20] says what is wrong with a setting', () => {
    const wrong: [Record<string, unknown>, RegExp][] = [
      [{ port: 70_000 }, /--port must be/],
      [
        { policy: 'no-such' },
        /--policy: there is no preset and no file called 'no-such'; presets:/,
      ],
      [{ config: join(folder, 'absent.json') }, /does not exist/],
      [{ config: file('broken.json', '{') }, /not valid JSON/],
      [
        { config: file('unknown.json', { upstream: [] }) },
        /The configuration at its top: unknown key 'upstream' \(did you mean 'upstreams'\?\)/,
      ],
      [
        { config: file('misspelt.json', { upstreams: [{ naem: 'a', baseUrl: 'http://a' }] }) },
        /The configuration at upstreams\.0: unknown key 'naem' \(did you mean 'name'\?\)/,
      ],
      [
        { config: file('missing.json', { upstreams: [{ name: 'a' }] }) },
        /The configuration at upstreams\.0\.baseUrl: a string is missing\./,
      ],
      [{ data: 'a', store: 'b' }, /give one of them/],
      [{ store: 'mysql://host/db' }, /--store takes the path of a SQLite file, or postgres:/],
      [{ config: file('store.json', { store: 'redis://host' }) }, /'store' takes the path/],
      [{ log: 'xml' }, /--log cannot be 'xml'; allowed: text, json/],
    ]
    for (const [raw, message] of wrong) expect(() => readServeSettings(raw, {})).toThrow(message)
  })

  it('[GT9] writes one JSON object for each request with --log json', async () => {
    const { world, printed } = terminal()
    const { promise, resolve } = Promise.withResolvers<void>()
    const settings = readServeSettings({ port: 0, data: folder, log: 'json' }, {})
    const running = serve(settings, world, promise)
    while (!printed().includes('Ctrl-C')) await new Promise((go) => setTimeout(go, 5))
    const url = /listens on (http:\S+)/.exec(printed())?.[1] ?? ''
    await (await fetch(`${url}/healthz`)).text()
    resolve()
    expect(await running).toBe(0)
    const lines = printed()
      .split('\n')
      .filter((line) => line.startsWith('{'))
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ level: 'info', event: 'request', route: 'health', status: 200 }),
    ])
    const config = file('oriel.json', { log: 'json', logRequests: false })
    expect(readServeSettings({ config }, {}).gateway).toMatchObject({
      logFormat: 'json',
      logRequests: false,
    })
  })

  it('[GW20] does not start with a store that cannot be used', async () => {
    const foreign = file('notes.txt', 'These are notes, and no database.')
    for (const store of [foreign, folder, join(foreign, 'below', 'oriel.db')]) {
      const { world, printed } = terminal()
      const settings = readServeSettings({ port: 0, store }, {})
      await expect(serve(settings, world, Promise.resolve())).rejects.toMatchObject({
        code: 'storage-failed',
      })
      expect(printed()).toBe('')
    }
    expect(readFileSync(foreign, 'utf8')).toBe('These are notes, and no database.')
    // Below some folders Node's own way to create another one never returns.
    const data = existsSync('/proc/self') ? '/proc/nowhere/data' : join(foreign, 'data')
    const settings = readServeSettings({ port: 0, data }, {})
    await expect(serve(settings, terminal().world, Promise.resolve())).rejects.toMatchObject({
      code: 'storage-failed',
    })
  })

  it('[GW20] does not start on a port that is taken, and leaves no store open', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { world, printed } = terminal()
    const settings = readServeSettings({ port, data: folder }, {})
    await expect(serve(settings, world, Promise.resolve())).rejects.toThrow(/is taken/)
    expect(printed()).toBe('')
    // While a store is open, its write log lies beside it.
    expect(readdirSync(folder)).not.toContain('oriel.db-wal')
    other.close()
  })

  it('[GW20] refuses wrong settings before it writes anything', async () => {
    const data = join(folder, 'data')
    for (const raw of [{ upstream: 'notaurl' }, { host: '0.0.0.0' }]) {
      const settings = readServeSettings({ port: 0, data, ...raw }, {})
      await expect(serve(settings, terminal().world, Promise.resolve())).rejects.toMatchObject({
        code: 'invalid-option',
      })
    }
    expect(existsSync(data)).toBe(false)
  })

  it('[GW20] does not start with a setting of the environment that is none', async () => {
    const settings = readServeSettings({ port: 0, data: folder }, { ORIEL_HISTORY_LENGTH: 'x' })
    await expect(serve(settings, terminal().world, Promise.resolve())).rejects.toThrow(
      /ORIEL_HISTORY_LENGTH/,
    )
  })
})
