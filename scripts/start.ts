// `npm start`: builds what is missing, starts gateway and studio with the embedded store and the demo agent, and prints the address.
// Options: --port 4141, --host 127.0.0.1, --data ./oriel-data.

import { spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { talk } from './sample-thread.ts'

const root = join(import.meta.dirname, '..')
const gatewayFolder = join(root, 'packages/gateway')
const studioFolder = join(gatewayFolder, 'dist/studio')

/** True if the page is not built, or older than its sources. */
function isPageStale(): boolean {
  const page = join(studioFolder, 'index.html')
  if (!existsSync(page)) return true
  const sources = globSync('packages/studio/{index.html,src/**/*}', { cwd: root })
  return sources.some((file) => statSync(join(root, file)).mtimeMs > statSync(page).mtimeMs)
}

/** The compiler builds incrementally. */
function build(): void {
  const isFirst = !existsSync(join(gatewayFolder, 'dist/index.js'))
  if (isFirst || isPageStale()) process.stdout.write('Building ...\n')
  for (const script of ['build:code', ...(isPageStale() ? ['build:page'] : [])]) {
    const { status } = spawnSync('npm', ['run', '--silent', script], {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
    })
    if (status !== 0) throw new Error('The build failed; what it printed is above.')
  }
}

async function start(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '4141' },
      host: { type: 'string', default: '127.0.0.1' },
      data: { type: 'string', default: './oriel-data' },
    },
  })
  build()
  // After the build, which creates these modules.
  const { createGateway, tuneHeap, readAgents, serveGateway } = await import('@oriel/gateway')
  const { sqliteStore } = await import('oriel')
  tuneHeap()
  mkdirSync(values.data, { recursive: true })
  const store = sqliteStore(join(values.data, 'oriel.db'))
  const gateway = createGateway({
    store,
    agents: readAgents(join(gatewayFolder, 'agents')),
    studio: studioFolder,
    env: process.env,
    log: (line) => process.stderr.write(`${line}\n`),
  })
  const server = await serveGateway(gateway, { port: Number(values.port), host: values.host })
  const sample = await sampleOf(server.url, join(values.data, 'sample-thread'))
  process.stdout.write(
    [
      '',
      `  Oriel   ${server.url}`,
      `  Chat    ${server.url}/chat?agent=demo&historyPolicy=lastN&historyLength=2&debug=true`,
      `  Sample  ${server.url}/threads/${sample}`,
      `  Agents  base URL ${server.url}/v1`,
      '',
      `  Threads are kept in ${values.data}. Ctrl+C stops.`,
      '',
    ].join('\n'),
  )
  const stop = async (): Promise<void> => {
    await server.close()
    await store.close()
    process.exit(0)
  }
  process.once('SIGINT', () => void stop())
  process.once('SIGTERM', () => void stop())
}

/** The sample thread; created by talking to the demo agent once. A file beside the store remembers which one it is. */
async function sampleOf(url: string, file: string): Promise<string> {
  if (existsSync(file)) {
    const known = readFileSync(file, 'utf8').trim()
    const found = await fetch(`${url}/api/threads/${encodeURIComponent(known)}`)
    if (found.ok) return known
  }
  process.stdout.write('Making a sample thread ...\n')
  const made = await talk({ url, session: `sample-${Date.now()}` })
  writeFileSync(file, `${made}\n`)
  return made
}

/** What went wrong, in one line: a port that is taken, a setting that is wrong. */
function explain(error: unknown): void {
  const { message } = error as Error
  process.stderr.write(`${message}\n`)
  process.exitCode = 1
}

if (import.meta.main) await start().catch(explain)
