// `--json` of every command: one value, and no character that could control a terminal.

import { mkdirSync, writeFileSync } from 'node:fs'
import { openThread } from 'oriel'
import { describe, expect, it } from 'vitest'
import { serve } from '../src/serve/command.ts'
import { readServeSettings } from '../src/serve/settings.ts'
import { oriel, type Run, temporaryFolder, withStore } from './keeping.ts'

const folder = temporaryFolder()
/** Clears the screen of a terminal that gets to see it. */
const control = '\u001b[2J\u202e'
const history = [
  { role: 'user', content: `invoice ${control}` },
  { role: 'assistant', content: 'Noted.' },
]

interface Case {
  /** Words behind the command. */
  words(): readonly string[]
  /** Fields of the answer, at least. */
  readonly fields: readonly string[]
}

const store = (): readonly string[] => ['--store', folder.file('oriel.db')]
const file = (name: string, text: string): string => {
  writeFileSync(folder.file(name), text)
  return folder.file(name)
}

const cases: Readonly<Record<string, Case>> = {
  connect: { words: () => ['codex', '--dry-run'], fields: ['version', 'how', 'agents'] },
  disconnect: { words: () => [], fields: ['version', 'agents'] },
  inspect: {
    words: () => [file('one.json', JSON.stringify(history))],
    fields: ['version', 'totals', 'conversations'],
  },
  simulate: {
    words: () => [
      file('two.json', JSON.stringify(history)),
      ...['--policy', 'recommended', '--workers', '1', '--rules', '0'],
    ],
    fields: ['notes'],
  },
  search: { words: () => ['invoice', ...store()], fields: ['results'] },
  context: { words: () => [`trip${control}`, ...store()], fields: [] },
  doctor: { words: store, fields: ['version', 'isSound', 'problems'] },
  export: {
    words: () => [...store(), '--out', folder.file('export.jsonl')],
    fields: ['version', 'isComplete', 'threads', 'entries', 'damaged'],
  },
  import: {
    words: () => [file('three.json', JSON.stringify(history)), '--store', folder.file('new.db')],
    fields: ['version', 'isComplete', 'outcomes', 'notes'],
  },
}

/** Commands that need a test of their own below, or have nothing to print as JSON. */
const others = ['serve', 'completion']

async function run(command: string, words: readonly string[]): Promise<Run> {
  await withStore(folder.file('oriel.db'), async (open) => {
    const thread = await openThread({ id: `trip${control}`, tenant: 'default', store: open })
    await thread.append(history)
  })
  const home = folder.file('home')
  mkdirSync(home)
  return oriel([command, ...words, '--json'], { env: { HOME: home, PATH: '' } })
}

describe('--json', () => {
  it('[CJ1] is tried with every command of the help', async () => {
    const { stdout } = await oriel(['--help'])
    const [commands = ''] = stdout.split('\nOptions\n')
    const names = [...commands.matchAll(/^ {2}(\w+) {2,}/gm)].map(([, name]) => name)
    expect(names.toSorted()).toEqual([...Object.keys(cases), ...others, 'help'].toSorted())
  })

  it.each(Object.entries(cases))('[CJ1] of %s is one value', async (command, { words, fields }) => {
    const { stdout, stderr } = await run(command, words())
    expect(stderr).toBe('')
    expect(Object.keys(JSON.parse(stdout) as object)).toEqual(expect.arrayContaining([...fields]))
    expect(stdout).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
  })

  it('[CJ1] of export without a file is on standard error, behind the lines', async () => {
    const { stdout, stderr } = await run('export', store())
    expect(stdout.trimEnd().split('\n').map(parse)).toHaveLength(5)
    expect(parse(stderr)).toMatchObject({ isComplete: true, out: '-', threads: 1, entries: 3 })
  })

  it('[CJ1] of serve is one line with the addresses', async () => {
    let stdout = ''
    const write = (text: string): void => {
      stdout += text
    }
    const settings = readServeSettings({ port: 0, data: folder.path, json: true }, {})
    const terminal = { stdin: (async function* () {})(), env: {}, now: () => 0 }
    const world = { ...terminal, stdout: { write }, stderr: { write: () => {} } }
    expect(await serve(settings, world, Promise.resolve())).toBe(0)
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    const { url, openai } = parse(stdout) as { readonly url: string; readonly openai: string }
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9]\d*$/)
    expect(openai).toBe(`${url}/v1`)
  })

  it('[CJ1] of connect and disconnect tells what changed, and changes it', async () => {
    const home = folder.file('home')
    mkdirSync(home)
    const env = { HOME: home, PATH: '' }
    const run = async (...words: readonly string[]): Promise<unknown> =>
      parse((await oriel([...words, '--json'], { env })).stdout)
    const agents = (type: string) => ({ agents: [{ name: 'codex', type }] })
    expect(await run('connect', 'codex', '--dry-run')).toMatchObject(agents('would connect'))
    expect(await run('connect', 'codex')).toMatchObject(agents('connected'))
    expect(await run('connect', 'codex')).toMatchObject(agents('connected already'))
    expect(await run('disconnect')).toMatchObject({
      agents: [{ name: 'codex', files: [{ isExact: true }] }],
    })
    expect(await run('disconnect')).toEqual({ version: 1, agents: [] })
  })
})

function parse(text: string): unknown {
  return JSON.parse(text)
}
