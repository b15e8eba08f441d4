import { execFileSync } from 'node:child_process'
import { formatNames, presets } from 'oriel'
import { beforeAll, describe, expect, it } from 'vitest'
import { main } from './main.ts'
import type { Terminal } from './terminal.ts'

async function oriel(
  ...words: readonly string[]
): Promise<{ code: number; out: string; err: string }> {
  let out = ''
  let err = ''
  const into = (write: (text: string) => void): object => ({ write })
  const terminal = {
    stdout: into((text) => {
      out += text
    }),
    stderr: into((text) => {
      err += text
    }),
    env: {},
  } as unknown as Terminal
  const code = await main(['node', 'oriel', ...words], terminal)
  return { code, out, err }
}

describe('completion', () => {
  let script = ''
  beforeAll(async () => {
    script = (await oriel('completion', 'bash')).out
  })

  /** What a real bash offers for the words typed so far. */
  const offered = (...words: readonly string[]): readonly string[] => {
    const typed = ['oriel', ...words].map((word) => `'${word}'`).join(' ')
    const asked = `COMP_WORDS=(${typed}); COMP_CWORD=${words.length}; _oriel; printf '%s\\n' "\${COMPREPLY[@]}"`
    const out = execFileSync('bash', ['-c', `${script}\n${asked}`], { encoding: 'utf8' })
    return out.split('\n').filter((line) => line !== '')
  }

  it('[CP1] completes commands', () => {
    expect(offered('ins')).toEqual(['inspect'])
    expect(offered('')).toEqual(expect.arrayContaining(['serve', 'doctor', 'completion']))
  })

  it('[CP1] completes the options of a command, and those alone', () => {
    expect(offered('serve', '--up')).toEqual(['--upstream'])
    expect(offered('doctor', '--up')).toEqual([])
  })

  it('[CP1] completes the values of options', () => {
    expect(offered('inspect', '--policy', '')).toEqual(Object.keys(presets))
    expect(offered('import', 'x.json', '--format', '')).toEqual([...formatNames])
  })

  it('[CP1] completes the names that a command takes', () => {
    expect(offered('connect', 'cl')).toEqual(['claude-code'])
    expect(offered('disconnect', 'open')).toEqual(['openclaw', 'opencode'])
    expect(offered('completion', 'z')).toEqual(['zsh'])
    expect(offered('help', 'sim')).toEqual(['simulate'])
  })

  it('[CP1] leaves files to the shell', () => {
    expect(offered('inspect', 'sess')).toEqual([])
  })

  it.each(['bash', 'zsh', 'fish'])('[CP1] names every command and option for %s', async (shell) => {
    const { code, out } = await oriel('completion', shell)
    expect(code).toBe(0)
    for (const word of ['serve', 'simulate', 'fail-if', 'disconnect', 'no-content']) {
      expect(out).toContain(word)
    }
  })

  it('[CP1] names the shells where another one is asked for', async () => {
    for (const words of [['completion'], ['completion', 'tcsh']]) {
      const { code, err } = await oriel(...words)
      expect(code).toBe(2)
      expect(err).toContain('bash, zsh, fish')
    }
  })

  it('[CP2] names the command that was probably meant', async () => {
    expect((await oriel('inspct')).err).toContain('did you mean oriel inspect')
    expect((await oriel('session.jsonl')).err).toContain('oriel inspect session.json')
  })
})
