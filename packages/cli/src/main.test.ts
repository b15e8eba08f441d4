// The command as its users run it, with captured output.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { describeRecorded } from '../../../scripts/recorded.ts'
import { main } from './index.ts'
import type { Terminal } from './terminal.ts'

const samples = join(import.meta.dirname, '../samples')
const codingAgent = join(samples, 'coding-agent.json')
const supportChat = join(samples, 'support-chat.jsonl')

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-main-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

interface Run {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

interface World {
  readonly stdin?: string
  readonly isTTY?: boolean
  readonly columns?: number
  readonly env?: Terminal['env']
}

async function oriel(words: readonly string[], world: World = {}): Promise<Run> {
  let stdout = ''
  let stderr = ''
  const { isTTY, columns, env = {} } = world
  const code = await main(['node', 'oriel', ...words], {
    stdin: streamOf(world.stdin ?? ''),
    stdout: {
      isTTY,
      columns,
      write: (text) => {
        stdout += text
      },
    },
    stderr: {
      write: (text) => {
        stderr += text
      },
    },
    env,
    now: () => 0,
  })
  return { code, stdout, stderr }
}

async function* streamOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

function fileOf(name: string, ...values: readonly unknown[]): string {
  const path = join(folder, name)
  writeFileSync(path, values.map((value) => `${JSON.stringify(value)}\n`).join(''))
  return path
}

const commands = [
  ...['serve', 'connect', 'disconnect', 'inspect', 'simulate'],
  ...['search', 'context', 'doctor', 'export', 'import', 'completion'],
]

describe('oriel', () => {
  it('alone, and with --help, shows every command on one screen', async () => {
    const alone = await oriel([])
    expect(alone).toMatchObject({ code: 0, stderr: '' })
    for (const word of [...commands, '--version', 'oriel inspect session.jsonl', 'NO_COLOR']) {
      expect(alone.stdout).toContain(word)
    }
    expect(alone.stdout.split('\n').length).toBeLessThan(50)
    expect(await oriel(['--help'])).toEqual(alone)
    const { code, stdout } = await oriel(['inspect', '--help'])
    expect(code).toBe(0)
    expect(stdout).toContain('oriel inspect  Show where the tokens go')
    expect(stdout).toContain('oriel inspect [...files] [options]')
    expect(stdout).toContain('--no-content')
    expect(stdout).not.toContain('simulate')
    expect(await oriel(['help'])).toEqual(alone)
    expect(await oriel(['help', 'help'])).toEqual(alone)
    expect(await oriel(['help', 'inspect'])).toEqual({ code, stdout, stderr: '' })
    for (const part of ['About', 'Options', 'Exit codes', 'Examples', 'with --strict']) {
      expect(stdout).toContain(part)
    }
    expect(Math.max(...alone.stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(
      100,
    )
  })

  it.each(commands)('explains %s as a manual page does', async (command) => {
    const { code, stdout, stderr } = await oriel(['help', command])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const part of ['Usage', 'About', 'Options', 'Exit codes', 'Examples']) {
      expect(stdout).toContain(`\n${part}\n`)
    }
    const longest = Math.max(...stdout.split('\n').map((line) => line.length))
    expect(longest).toBeLessThanOrEqual(102)
  })

  it('shows its version', async () => {
    const manifest = readFileSync(join(import.meta.dirname, '../package.json'), 'utf8')
    const { version } = JSON.parse(manifest) as { version: string }
    expect(await oriel(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  it.each([
    [['inspekt'], "oriel: there is no command 'inspekt', did you mean oriel inspect."],
    [
      ['a.jsonl'],
      "oriel: there is no command 'a.jsonl'; to look at a file: oriel inspect a.jsonl.",
    ],
    [['studio'], "oriel: there is no command 'studio', did you mean oriel serve."],
    [['backup'], "oriel: there is no command 'backup', did you mean oriel export."],
    [['version'], "oriel: there is no command 'version', did you mean oriel --version."],
    [['dance'], "oriel: there is no command 'dance'; oriel --help lists the commands."],
    [['--serve'], 'oriel: unknown option --serve, did you mean oriel serve.'],
    [['--pol'], 'oriel: unknown option --pol; oriel --help lists the options.'],
    [['serve', '--pol', 'x'], 'oriel: unknown option --pol, did you mean --policy; oriel serve'],
    [['connect', '--drry-run'], 'oriel: unknown option --drry-run, did you mean --dry-run; oriel'],
    [
      ['inspect', '-json'],
      'oriel: unknown option -json, did you mean --json; oriel inspect --help',
    ],
    [['inspect', '--json=x'], 'oriel: --json takes no value; oriel inspect --help lists'],
    [['inspect', '--no-json'], 'oriel: unknown option --no-json; oriel inspect --help lists'],
    [
      ['inspect', '--policy', 'recomended'],
      "oriel: --policy: there is no preset and no file called 'recomended', did you mean recommended;",
    ],
    [
      ['simulate', '--policy', 'history_window'],
      "oriel: --policy: there is no preset and no file called 'history_window', did you mean history-",
    ],
    [
      ['serve', '--policy', 'Placeholders'],
      "oriel: --policy: there is no preset and no file called 'Placeholders', did you mean placeholders;",
    ],
    [
      ['inspect', '--format', 'openai'],
      "oriel: --format cannot be 'openai', did you mean openai-chat; allowed: openai-chat,",
    ],
    [
      ['simulate', '--prices', 'opanai'],
      "oriel: --prices: no provider or model is called 'opanai', did you mean openai; providers:",
    ],
    [
      ['simulate', '--fail-if', 'recal<0.9'],
      "oriel: --fail-if: no number is called 'recal', did you mean recall; known: cost,",
    ],
    [
      ['completion', 'bsh'],
      'oriel: completion needs the name of a shell, did you mean bash: bash, zsh, fish.',
    ],
    [
      ['inspect', '--colour'],
      'oriel: unknown option --colour; oriel inspect --help lists the options.',
    ],
    [
      ['serve', '--polcy', 'recommended'],
      'oriel: unknown option --polcy, did you mean --policy; oriel serve --help lists the options.',
    ],
    [
      ['simulate', 'x', '--longcache'],
      'oriel: unknown option --longcache, did you mean --long-cache; oriel simulate --help',
    ],
    [['inspect', '--top'], 'oriel: --top needs a value: --top <rows>; oriel inspect --help lists'],
    [['inspect', '--top', '-3'], 'oriel: unknown option -3; a value that begins with - needs a ='],
    [['inspect', '--foo'], 'oriel: unknown option --foo; oriel inspect --help lists the options.'],
    [['--foo'], 'oriel: unknown option --foo; oriel --help lists the options.'],
    [['help', 'inspct'], "oriel: there is no command 'inspct', did you mean oriel inspect."],
    [['serve', 'extra'], "oriel: oriel serve takes options only; got 'extra'."],
    [['doctor', 'extra'], "oriel: oriel doctor takes options only; got 'extra'."],
    [['export', 'extra'], "oriel: oriel export takes options only; got 'extra'."],
    [['export', '--until', 'x'], 'oriel: --until must be the seq of an entry'],
    [['search'], 'oriel: say what to find: oriel search <query>.'],
    [['search', 'x', '--limit', '0'], 'oriel: --limit must be a whole number from 1 to 100.'],
    [['search', 'x', '--url', 'here'], 'oriel: --url must be the address of a gateway'],
    [['context'], 'oriel: name one thread: oriel context <id>.'],
    [['import'], 'oriel: name the file to import, or - for standard input.'],
    [['import', 'nothing'], 'oriel: nothing: there is no such file; check the path.'],
    [['completion', 'powershell'], 'oriel: completion needs the name of a shell: bash, zsh, fish.'],
    [['connect', 'nosuch'], "oriel: there is no agent 'nosuch'; known: claude-code"],
    [['simulate', '--rules', 'x'], 'oriel: --rules must be a whole number, 0 or more'],
    [['connect', '--how', 'x'], "oriel: --how cannot be 'x'; allowed: base-url, plugin."],
    [['serve', '--port', 'abc'], "oriel: --port must be a number from 0 to 65535; got 'abc'."],
    [['serve', '--log', 'xml'], "oriel: --log cannot be 'xml'; allowed: text, json."],
    [
      ['serve', '--expand', 'maybe'],
      "oriel: --expand cannot be 'maybe'; allowed: auto, always, never.",
    ],
    [['serve', '--config', 'none'], "oriel: --config: the file 'none' does not exist."],
    [['serve', '--upstream', 'here'], 'oriel: The base URL of the upstream'],
    [['simulate', '--workers', '0'], 'oriel: --workers must be a whole number above 0'],
    [['simulate', '--prices', 'none'], "oriel: --prices: no provider or model is called 'none'"],
    [['simulate', '--fail-if', 'bad'], "oriel: --fail-if: 'bad' is no comparison"],
    [['inspect', '--tokens', 'x'], "oriel: --tokens cannot be 'x'; allowed: estimate, o200k."],
    [['inspect', '--format', 'x'], "oriel: --format cannot be 'x'; allowed: openai-chat"],
    [['inspect', '--top', '5', '--top', '6'], 'oriel: --top takes one value; give it once.'],
    [['inspect', '--budget', '0'], 'oriel: --budget must be a whole number above 0'],
    [['doctor', '--data', '/nowhere'], 'oriel: there is no store at /nowhere/oriel.db'],
    [
      ['inspect', '--top', 'x'],
      "oriel: --top must be a whole number above 0, such as 20 or 32k; got 'x'",
    ],
    [
      ['inspect', '--policy', 'x'],
      "oriel: --policy: there is no preset and no file called 'x'; presets",
    ],
    [
      ['inspect', '--conversation', 'x'],
      'oriel: --conversation: none has the id or number x; leave',
    ],
    [['inspect', 'no-such-file'], 'oriel: no-such-file: there is no such file; check the path.'],
    [['inspect', '--', '--top'], 'oriel: --top: there is no such file; check the path.'],
  ])('[CP2] refuses %j with one sentence and exit code 2', async (words, message) => {
    const { code, stdout, stderr } = await oriel(words)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr.startsWith(message)).toBe(true)
    expect(stderr.split('\n')).toHaveLength(2)
  })
})

describe('oriel inspect', () => {
  it('without a file shows the bundled sample, and says so', async () => {
    const { code, stdout } = await oriel(['inspect'])
    expect(code).toBe(0)
    expect(stdout).toMatch(/^oriel inspect {2}the bundled sample\n/)
    expect(stdout.trimEnd().endsWith('oriel inspect <file.json or .jsonl>')).toBe(true)
  })

  it('renders the sample as it always did', async () => {
    const { stdout } = await oriel(['inspect', '--policy', 'history-window', '--budget', '6k'])
    await expect(stdout).toMatchFileSnapshot('golden/coding-agent.txt')
  })

  it('reads a request body of Gemini, as simulate and import do', async () => {
    const contents = [
      { role: 'user', parts: [{ text: 'Read a.' }] },
      { role: 'model', parts: [{ functionCall: { id: 'c', name: 'read', args: {} } }] },
      {
        role: 'user',
        parts: [{ functionResponse: { id: 'c', name: 'read', response: { a: 1 } } }],
      },
      { role: 'model', parts: [{ text: 'Done.' }] },
    ]
    const file = fileOf('gemini.json', { systemInstruction: { parts: [] }, contents })
    const { stdout } = await oriel(['inspect', file])
    expect(stdout).toContain('format    gemini, certain')
    expect(stdout).toMatch(/read +1 /)
    expect((await oriel(['simulate', file])).stdout).toContain('4 messages, 2 model calls')
    const imported = await oriel(['import', file, '--data', join(folder, 'gemini')])
    expect(imported.stdout).toContain('4 messages of conversation #1, gemini')
  })

  it('[CP3] keeps what follows an option without a value', async () => {
    const words = [
      ['inspect', '--no-content', supportChat],
      ['inspect', '--strict', supportChat],
      ['simulate', '--long-cache', supportChat],
      ['simulate', '--summarizer', supportChat],
    ]
    for (const line of words) {
      const { stdout } = await oriel([...line, '--json'])
      expect(stdout, line.join(' ')).not.toMatch(/"(?:isSample|sample)": true/)
    }
  })

  it('[CP3] gives each preset the cost that simulate gives it', async () => {
    interface Inspected {
      readonly savings: readonly { readonly policy?: string; readonly cost?: number }[]
    }
    interface Simulated {
      readonly policies: readonly { readonly name: string; readonly cost: number }[]
    }
    const { savings } = JSON.parse((await oriel(['inspect', '--json'])).stdout) as Inspected
    const words = ['simulate', codingAgent, '--rules', '0', '--json']
    const { policies } = JSON.parse((await oriel(words)).stdout) as Simulated
    for (const name of ['recommended', 'compaction', 'placeholders', 'turn-expiry']) {
      const cost = policies.find((one) => one.name === name)?.cost ?? Number.NaN
      expect(savings.find(({ policy }) => policy === name)?.cost).toBeCloseTo(cost, 3)
    }
  })

  it('renders several conversations as it always did', async () => {
    const [agent, chat] = [readFileSync(codingAgent, 'utf8'), readFileSync(supportChat, 'utf8')]
    const messages = chat
      .trimEnd()
      .split('\n')
      .map((line): unknown => JSON.parse(line))
    const body = { id: 'upload-fix', ...(JSON.parse(agent) as object) }
    const file = fileOf('both.jsonl', { id: 'late-order', messages }, body, { messages: [{}] })
    const { stdout } = await oriel(['inspect', file, '--top', '3'])
    const text = stdout.replace(file, 'both.jsonl')
    await expect(text).toMatchFileSnapshot('golden/several.txt')
  })

  it('reads standard input', async () => {
    const text = readFileSync(supportChat, 'utf8')
    const piped = await oriel(['inspect', '-'], { stdin: text })
    const named = await oriel(['inspect', supportChat])
    expect(piped.stdout).toBe(named.stdout.replace(supportChat, 'standard input'))
  })

  it('never writes a line wider than the terminal, nor than 100 columns', async () => {
    for (const columns of [80, 200]) {
      const { stdout } = await oriel(['inspect', codingAgent], { isTTY: true, columns })
      const widths = stripVTControlCharacters(stdout)
        .split('\n')
        .map((line) => [...line].length)
      expect(Math.max(...widths)).toBeLessThanOrEqual(Math.min(columns, 100))
    }
  })

  it('uses colour in a terminal only, and not where NO_COLOR is set', async () => {
    const colored = await oriel(['inspect'], { isTTY: true, columns: 100 })
    const plain = await oriel(['inspect'])
    expect(colored.stdout).toContain('\u001b[')
    expect(plain.stdout).not.toContain('\u001b[')
    const lines = (text: string): string[] => text.split('\n').map((line) => line.trimEnd())
    expect(lines(stripVTControlCharacters(colored.stdout))).toEqual(lines(plain.stdout))
    const without = { isTTY: true, columns: 100, env: { NO_COLOR: '1' } }
    expect((await oriel(['inspect'], without)).stdout).toBe(plain.stdout)
  })

  it('shows one conversation of many, by id or by number', async () => {
    const one = { id: '007', messages: [{ role: 'user', content: 'One.' }] }
    const two = {
      id: 'b',
      messages: [
        { role: 'user', content: 'Two.' },
        { role: 'assistant', content: 'Yes.' },
      ],
    }
    const file = fileOf('two.jsonl', one, two)
    const messagesOf = async (name: string): Promise<unknown> => {
      const { stdout } = await oriel(['inspect', file, '--json', '--conversation', name])
      return (JSON.parse(stdout) as { totals: { messages: unknown } }).totals.messages
    }
    expect(await messagesOf('007')).toBe(1)
    expect(await messagesOf('b')).toBe(2)
    expect(await messagesOf('2')).toBe(2)
  })

  it('tells long numbers apart that are ids', async () => {
    const question = { role: 'user', content: 'One.' }
    const file = fileOf(
      'long-ids.jsonl',
      { id: '1402345678901234567', messages: [question] },
      { id: '1402345678901234568', messages: [question, { role: 'assistant', content: 'Yes.' }] },
    )
    const choose = ['inspect', file, '--json', '--conversation', '1402345678901234568']
    const { stdout } = await oriel(choose)
    expect(JSON.parse(stdout)).toMatchObject({ totals: { messages: 2 } })
  })

  it('ends with 1 under --strict if structure is broken, else with 0', async () => {
    expect((await oriel(['inspect', codingAgent])).code).toBe(0)
    expect((await oriel(['inspect', codingAgent, '--strict'])).code).toBe(1)
    expect((await oriel(['inspect', supportChat, '--strict'])).code).toBe(0)
  })

  it('leaves out a conversation that cannot be read, and says which; alone it is an error', async () => {
    const bad = { messages: [{ role: 'user', content: 7 }] }
    const good = { messages: [{ role: 'user', content: 'Hello.' }] }
    const mixed = await oriel(['inspect', fileOf('mixed.jsonl', bad, good)])
    expect(mixed.code).toBe(0)
    expect(mixed.stdout).toContain('note  conversation #1 was left out: ')
    const alone = await oriel(['inspect', fileOf('bad.jsonl', bad)])
    expect(alone.code).toBe(2)
    expect(alone.stderr).toContain('messages[0].content')
  })

  it('reports a torn last line', async () => {
    const stdin = `${readFileSync(supportChat, 'utf8')}{"role": "us`
    const { code, stdout } = await oriel(['inspect', '-'], { stdin })
    expect(code).toBe(0)
    expect(stdout).toContain('note  line 20, the last one, is torn and was skipped')
  })
})

describe('what is untrusted', () => {
  const hostile = '\u001b]0;owned\u0007\u001b[2J\u202eevil\u009b31m'
  const secret = 'the launch code is 0000'
  const call = { id: hostile, type: 'function', function: { name: hostile, arguments: '{}' } }
  const body = {
    id: hostile,
    messages: [
      { role: 'user', content: secret },
      { role: 'assistant', content: secret, tool_calls: [call, { ...call, id: 'lost' }] },
      { role: 'tool', tool_call_id: hostile, content: `${hostile} ${secret}\n`.repeat(30) },
      { role: 'user', content: hostile },
    ],
  }

  it('never reaches the terminal raw', async () => {
    const file = fileOf('hostile.jsonl', body, { ...body, id: `${hostile}2` })
    for (const words of [[], ['--json'], ['--policy', 'history-window', '--budget', '200']]) {
      const { stdout, code } = await oriel(['inspect', file, ...words])
      expect(code).toBe(0)
      expect(stdout).toContain('evil')
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u)
    }
    const { stderr } = await oriel(['inspect', `${hostile}.json`])
    expect(stderr.trimEnd()).not.toMatch(/[\p{Cc}\p{Cf}]/u)
  })

  it('shows nothing of messages but first lines of results, and with --no-content not even those', async () => {
    const file = fileOf('secret.jsonl', body)
    const shown = await oriel(['inspect', file])
    expect(shown.stdout.split(secret)).toHaveLength(2)
    for (const words of [[], ['--json'], ['--policy', 'history-window', '--budget', '200']]) {
      const { stdout } = await oriel(['inspect', file, '--no-content', ...words])
      expect(stdout).not.toContain(secret)
    }
  })
})

describe('--json', () => {
  it('has the documented shape', async () => {
    const words = ['inspect', codingAgent, '--json', '--policy', 'history-window', '--budget', '6k']
    const { stdout } = await oriel(words)
    const report = JSON.parse(stdout) as Record<string, Record<string, unknown>>
    expect(Object.keys(report)).toEqual([
      'version',
      'files',
      'isSample',
      'notes',
      'counter',
      'formats',
      'totals',
      'parts',
      'tools',
      'repeats',
      'structure',
      'savings',
      'policy',
      'conversations',
      'largest',
    ])
    expect(report.version).toBe(1)
    expect(report.files).toEqual([codingAgent])
    expect(report.counter).toBe('o200k')
    expect(report.totals).toMatchObject({ conversations: 1, messages: 55, turns: 4, steps: 22 })
    expect(report.policy).toMatchObject({ name: 'history-window in 6,000 tokens', budget: 6000 })
    expect(report.largest).toMatchObject({ number: 1, tokens: report.totals?.tokens })
    expect(report.structure).toMatchObject({
      broken: [{ rule: 'O1', path: 'messages[52]', conversation: 1 }, { rule: 'O6' }],
      leftAfterRepair: 0,
    })
  })

  it('has no field that the guide does not name', async () => {
    const guide = readFileSync(join(import.meta.dirname, '../../../docs/guides/inspect.md'), 'utf8')
    const { stdout } = await oriel(['inspect', codingAgent, '--json', '--policy', 'history-window'])
    for (const field of Object.keys(JSON.parse(stdout) as object)) {
      expect(guide).toContain(`\`${field}\``)
    }
  })
})

describeRecorded('recorded conversations', ({ files }) => {
  it('are read whole, and none is left broken', async () => {
    // The largest file is most of the time and shows nothing more.
    const some = files.filter(({ name }) => !name.includes('mini-swe') && !name.includes('tau-'))
    const conversations = some.flatMap((file) => file.conversations())
    const paths = some.map(({ path }) => path)
    const { code, stdout } = await oriel(['inspect', ...paths, '--json', '--tokens', 'estimate'])
    expect(code).toBe(0)
    const report = JSON.parse(stdout) as {
      readonly notes: unknown
      readonly totals: unknown
      readonly structure: { readonly leftAfterRepair: number }
    }
    expect(report.notes).toEqual([])
    expect(report.totals).toMatchObject({
      conversations: conversations.length,
      messages: conversations.reduce((sum, { messages }) => sum + messages.length, 0),
    })
    expect(report.structure.leftAfterRepair).toBe(0)
  })
})
