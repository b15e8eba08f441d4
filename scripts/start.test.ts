import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'

const root = join(import.meta.dirname, '..')

it('[ST13] starts gateway and studio with a sample thread, and keeps it over a restart', async () => {
  const data = mkdtempSync(join(tmpdir(), 'oriel-start-'))
  onTestFinished(() => rmSync(data, { recursive: true, force: true }))
  const first = await start(data)
  expect(first.text).toContain('Making a sample thread')
  const page = await fetch(first.sample)
  expect(await page.text()).toContain('<script type="module"')
  const api = first.sample.replace('/threads/', '/api/threads/')
  const thread = (await (await fetch(api)).json()) as { title: string; turns: number }
  expect(thread).toMatchObject({ title: 'What failed in the billing log?', turns: 12 })
  const { edits } = (await (await fetch(`${api}/edits`)).json()) as { edits: { rule: string }[] }
  const rules = [...new Set(edits.map(({ rule }) => rule))].sort()
  expect(rules).toEqual(['compaction', 'expiry', 'toolOutput', 'toolResults'])
  await first.stop()
  const second = await start(data)
  expect(second.text).not.toContain('Making a sample thread')
  expect(new URL(second.sample).pathname).toBe(new URL(first.sample).pathname)
  await second.stop()
}, 180_000)

async function start(data: string) {
  const options = ['scripts/start.ts', '--port', '0', '--data', data]
  const child = spawn(process.execPath, options, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => {
    child.kill()
  })
  let text = ''
  for await (const chunk of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk as string
    if (text.includes('Ctrl+C stops')) break
  }
  const sample = /Sample {2}(\S+)/.exec(text)?.[1]
  if (sample === undefined) throw new Error(`It did not start: ${text}`)
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
  return { text, sample, stop }
}
