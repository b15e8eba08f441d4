import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const script = join(import.meta.dirname, 'walk.ts')

function walk(...words: readonly string[]): { status: number | null; lines: readonly string[] } {
  const flags = ['--disable-warning=ExperimentalWarning', script, ...words]
  const { status, stdout, stderr } = spawnSync(process.execPath, flags, { encoding: 'utf8' })
  return { status, lines: `${stdout}${stderr}`.trimEnd().split('\n') }
}

describe('the walk of an operation', () => {
  it('lists the files and functions of project in the order of their first entry', () => {
    const { status, lines } = walk('project')
    expect(status).toBe(0)
    expect(lines[0]).toMatch(/^project: \d+ files, \d+ functions with a name, \d+ calls$/)
    expect(lines[1]?.trim()).toBe('packages/oriel/src/project.ts')
    expect(lines[2]?.trim()).toBe('project')
    const at = (file: string): number => lines.findIndex((line) => line.trim().endsWith(file))
    expect(at('openai-chat/decode.ts')).toBeGreaterThan(1)
    expect(at('core/view/render.ts')).toBeGreaterThan(at('openai-chat/decode.ts'))
  })

  it('walks a managed call from the server to the answer', () => {
    const { status, lines } = walk('call')
    expect(status).toBe(0)
    const files = lines.map((line) => line.trim()).filter((line) => line.startsWith('packages/'))
    expect(files.slice(0, 10)).toContain('packages/gateway/src/http/server.ts')
    expect(files).toContain('packages/oriel/src/providers/openai-chat/stream.ts')
  })

  it('refuses an operation that it does not know', () => {
    expect(walk('dance')).toMatchObject({ status: 1 })
  })
})
