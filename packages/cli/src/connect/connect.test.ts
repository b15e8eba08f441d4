import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import * as fc from 'fast-check'
import { OrielError } from 'oriel'
import { stringify as writeToml } from 'smol-toml'
import { afterAll, describe, expect, it } from 'vitest'
import { main } from '../main.ts'
import type { Terminal } from '../terminal.ts'
import { agents, type FileChange } from './agents.ts'
import {
  type FileFormat,
  read,
  type Setting,
  withoutSettings,
  withSettings,
} from './settings-file.ts'

const scratch = mkdtempSync(join(tmpdir(), 'oriel-connect-'))
afterAll(() => rmSync(scratch, { recursive: true }))
let homes = 0

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function inHome(): {
  home: string
  env: Record<string, string>
  oriel(...words: string[]): Promise<Ran>
} {
  const home = join(scratch, String(homes++))
  mkdirSync(home)
  const own: Record<string, string> = {}
  return {
    home,
    env: own,
    async oriel(...words) {
      const [out, err]: [string[], string[]] = [[], []]
      const terminal: Terminal = {
        stdin: (async function* () {})(),
        stdout: { write: (text) => out.push(text) },
        stderr: { write: (text) => err.push(text) },
        env: { HOME: home, PATH: '', NO_COLOR: '1', ...own },
        now: () => 0,
      }
      const code = await main(['node', 'oriel', ...words], terminal)
      return { code, out: out.join(''), err: err.join('') }
    },
  }
}

/** Everything below a folder, by its path in it: bytes and modes of files, where links lead, folders. Oriel's own folder is left out. */
function filesIn(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
  const described = paths.map((one): [string, string] => {
    const path = join(one.parentPath, one.name)
    const name = path.slice(folder.length)
    if (one.isSymbolicLink()) return [name, `-> ${readlinkSync(path)}`]
    if (!one.isFile()) return [name, 'a folder']
    const mode = (statSync(path).mode & 0o777).toString(8)
    return [name, `${mode} ${readFileSync(path).toString('latin1')}`]
  })
  return Object.fromEntries(described.filter(([name]) => !name.startsWith('/.oriel')))
}

function recordIn(home: string): string {
  return readFileSync(join(home, '.oriel/connections.json'), 'utf8').trim()
}

const word = fc.constantFrom(
  'model',
  'theme',
  'env',
  'provider',
  'openai',
  'options',
  'plugin',
  'extensions',
  'CLAUDE_CODE_PLUGIN_DIRS',
  'baseURL',
  'DIRS',
  'NEW_URL',
  'x y',
  'ä',
)
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean())
const { tree } = fc.letrec<{ tree: Record<string, unknown> }>((tie) => ({
  tree: fc.dictionary(word, fc.oneof({ maxDepth: 3 }, leaf, fc.array(leaf), tie('tree')), {
    maxKeys: 5,
  }),
}))
const eol = fc.constantFrom('\n', '\r\n')
const mark = fc.constantFrom('', '', '\uFEFF')

/** JSON in the ways in which people write it: tabs, comments, trailing commas, no newline at the end. */
const jsonText = fc
  .record({
    tree,
    indent: fc.constantFrom(0, 2, 4, '\t'),
    hasComments: fc.boolean(),
    hasComma: fc.boolean(),
    end: fc.constantFrom('', '\n', '\n\n'),
    eol,
    mark,
  })
  .map(({ tree: value, indent, hasComments, hasComma, end, eol: lineEnd, mark: first }) => {
    const plain = JSON.stringify(value, null, indent)
    const commented = hasComments ? plain.replace(/^\{/, '{ // mine\n/* keep "this": { */') : plain
    const comma =
      hasComma && Object.keys(value).length > 0 ? commented.replace(/\}$/, ',}') : commented
    return first + (comma + end).replaceAll('\n', lineEnd)
  })

const tomlText = fc
  .record({
    tree,
    before: fc.constantFrom('', '# mine\n\n'),
    own: fc.constantFrom(
      '',
      'openai_base_url = "http://old" # why\n',
      'openai_base_url = """\na\n[no]\n"""\n',
    ),
    eol,
    mark,
  })
  .map(({ tree: value, before, own, eol: lineEnd, mark: first }) => {
    const text = `${before}${own}note = """\nopenai_base_url = "no"\n"""\n${writeToml({ tree: value } as never)}`
    return first + text.replaceAll('\n', lineEnd)
  })

const envText = fc
  .record({
    lines: fc.array(
      fc.oneof(
        fc.constantFrom(
          '# OPENAI_BASE_URL=http://no',
          '',
          'KEY="a=b"',
          'export OPENAI_BASE_URL=http://old',
          'OPENAI_BASE_URL=http://older',
        ),
        fc.stringMatching(/^[A-Z]{1,5}=[ -~]{0,9}$/),
      ),
      { maxLength: 8 },
    ),
    end: fc.constantFrom('', '\n'),
    eol,
  })
  .map(({ lines, end, eol: lineEnd }) => lines.join(lineEnd) + (end === '' ? '' : lineEnd))

const textOf: { readonly [F in FileFormat]: fc.Arbitrary<string> } = {
  json: jsonText,
  toml: tomlText,
  env: envText,
}

/** How a file of settings is there before: not at all, or as people and their tools leave it. */
const layout = fc.constantFrom('absent', 'file', 'file', 'narrow', 'link', 'link to nothing')
type Layout = typeof layout extends fc.Arbitrary<infer T> ? T : never

function place(home: string, path: string, text: string, how: Layout): void {
  if (how === 'absent') return
  mkdirSync(dirname(path), { recursive: true })
  const stored = join(home, 'dotfiles', `${path.length}-${basename(path)}`)
  if (how !== 'link to nothing') mkdirSync(dirname(stored), { recursive: true })
  if (how === 'link') writeFileSync(stored, text)
  if (how === 'link' || how === 'link to nothing')
    symlinkSync(relative(dirname(path), stored), path)
  else writeFileSync(path, text, { mode: how === 'narrow' ? 0o640 : 0o644 })
}

/** Every way to connect every agent, with the files that it changes in a home. */
const ways = agents.flatMap((agent) =>
  (['base-url', 'plugin'] as const)
    .filter((how) => how === 'base-url' || agent.plugin !== undefined)
    .map((how) => ({
      agent: agent.name,
      how,
      changes: (home: string): readonly FileChange[] =>
        how === 'plugin'
          ? (agent.plugin?.({ home, env: {} }, '/x/y') ?? [])
          : agent.baseUrl({ home, env: {} }, 'http://127.0.0.1:4141'),
    })),
)

describe('connecting an agent', () => {
  it.each(ways)(
    '[CO1] $agent by $how: disconnecting leaves everything byte for byte as it was',
    async ({ agent, how, changes }) => {
      const seen = { changed: 0, refused: 0 }
      const texts = changes('/').map(({ format }) => fc.tuple(textOf[format], layout, fc.boolean()))
      await fc.assert(
        fc.asyncProperty(fc.tuple(...texts), async (files) => {
          const { home, oriel } = inHome()
          for (const [index, { path, alternatives = [] }] of changes(home).entries()) {
            const [text, how, isOther] = files[index] as [string, Layout, boolean]
            place(home, (isOther ? alternatives[0] : undefined) ?? path, text, how)
          }
          const before = filesIn(home)
          const { code, err } = await oriel('connect', agent, '--how', how)
          // A setting may stand where an object must be: then nothing is changed.
          if (code !== 0) {
            expect(err).toMatch(/Nothing was changed/)
            expect(filesIn(home)).toEqual(before)
            seen.refused += 1
            return
          }
          const written = Object.values(filesIn(home)).join('')
          expect(written).toContain(how === 'plugin' ? `plugins/${agent}` : 'http://127.0.0.1:4141')
          if (Object.keys(before).length > 0) seen.changed += 1
          await oriel('disconnect', agent)
          expect(recordIn(home)).toBe('{}')
          expect(filesIn(home)).toEqual(before)
        }),
        { numRuns: 60 },
      )
      expect(seen.changed).toBeGreaterThan(seen.refused / 10)
    },
  )

  it.each([
    ['json', jsonText, ['env', 'NEW_URL']],
    ['toml', tomlText, ['openai_base_url']],
    ['env', envText, ['OPENAI_BASE_URL']],
  ] as const)(
    '[CO2] in %s only the setting changes, and taking it back says what was said before',
    (format, text, path) => {
      fc.assert(
        fc.property(text, (content) => {
          const before = read(content, format)
          const { env = {} } = before
          if (typeof env !== 'object' || Array.isArray(env)) return
          const set = withSettings(content, [{ path, value: 'http://x' }], format)
          const back = withoutSettings(set.text, { before: set.before }, format)
          expect(JSON.parse(JSON.stringify(read(back, format)))).toEqual(
            JSON.parse(JSON.stringify(before)),
          )
        }),
      )
    },
  )

  it('[CO3] a file that was changed meanwhile keeps the changes', async () => {
    const { home, oriel } = inHome()
    const file = join(home, '.claude/settings.json')
    mkdirSync(dirname(file))
    writeFileSync(
      file,
      '{\n  // mine\n  "env": { "ANTHROPIC_BASE_URL": "http://old", "A": "1" }\n}\n',
    )
    expect((await oriel('connect')).out).toMatch(
      /claude-code: connected by base-url[\s\S]*\(was "http:\/\/old"\)/,
    )
    writeFileSync(file, readFileSync(file, 'utf8').replace('"A": "1"', '"A": "2"'))
    expect((await oriel('disconnect')).out).toContain('was changed meanwhile')
    expect(readFileSync(file, 'utf8')).toBe(
      '{\n  // mine\n  "env": { "ANTHROPIC_BASE_URL": "http://old", "A": "2" }\n}\n',
    )
  })

  const mine = fc.constantFrom<readonly Setting[]>(
    [{ path: ['theme'], value: 'dark' }],
    [{ path: ['env', 'NEW_URL'], value: 'http://mine' }],
    [{ path: ['env', 'MINE'], value: '1' }],
    [{ path: ['env', 'DIRS'], value: { add: '/mine', separator: ':' } }],
    [{ path: ['plugin'], value: { add: 'mine' } }],
  )
  it('[CO3] what somebody sets meanwhile is kept, in the same place too; the rest is as it was', () => {
    const ours: readonly Setting[] = [
      { path: ['env', 'NEW_URL'], value: 'http://x' },
      { path: ['env', 'DIRS'], value: { add: '/ours', separator: ':' } },
      { path: ['plugin'], value: { add: 'ours' } },
    ]
    const seen = { count: 0 }
    fc.assert(
      fc.property(jsonText, mine, (content, change) => {
        const run = (): readonly [string, string] | undefined => {
          try {
            const direct = withSettings(content, change, 'json').text
            const set = withSettings(content, ours, 'json')
            const changed = withSettings(set.text, change, 'json').text
            return [direct, withoutSettings(changed, set, 'json')]
          } catch (error) {
            // A text where a list or an object must be.
            if (OrielError.is(error)) return undefined
            throw error
          }
        }
        const texts = run()
        if (texts === undefined) return
        seen.count += 1
        const [direct, through] = texts
        expect(read(through, 'json')).toEqual(read(direct, 'json'))
      }),
      { numRuns: 300 },
    )
    expect(seen.count).toBeGreaterThan(100)
  })

  it('[CO3] a base URL of somebody else and an export in an env file stay', async () => {
    const { home, oriel } = inHome()
    const file = join(home, '.qwen/.env')
    mkdirSync(dirname(file))
    writeFileSync(file, 'export OPENAI_BASE_URL=http://old\n')
    await oriel('connect', 'qwen-code')
    writeFileSync(file, `${readFileSync(file, 'utf8')}A=1\n`)
    await oriel('disconnect')
    expect(readFileSync(file, 'utf8')).toBe('export OPENAI_BASE_URL=http://old\nA=1\n')
    await oriel('connect', 'qwen-code')
    writeFileSync(file, 'OPENAI_BASE_URL=http://newer\n')
    await oriel('disconnect')
    expect(readFileSync(file, 'utf8')).toBe('OPENAI_BASE_URL=http://newer\n')
  })

  it('[CO3] two folders of settings of one agent are connected beside each other', async () => {
    const { home, oriel, env } = inHome()
    mkdirSync(join(home, '.claude'))
    mkdirSync(join(home, 'work'))
    writeFileSync(join(home, 'work/settings.json'), '{"a": 1}')
    const before = filesIn(home)
    await oriel('connect', 'claude-code')
    env.CLAUDE_CONFIG_DIR = join(home, 'work')
    expect((await oriel('connect', 'claude-code')).out).toContain('connected by base-url')
    expect((await oriel('connect', 'claude-code')).out).toContain('connected already')
    expect((await oriel('connect', 'claude-code', '--how', 'plugin')).out).toContain(
      'connected already, by base-url',
    )
    expect(filesIn(home)['/work/settings.json']).toContain('ANTHROPIC_BASE_URL')
    delete env.CLAUDE_CONFIG_DIR
    await oriel('disconnect', 'claude-code')
    expect(filesIn(home)).toEqual(before)
  })

  it('[CO2] where one file cannot be written the others are given back', async () => {
    const { home, oriel } = inHome()
    mkdirSync(join(home, '.gemini'))
    // Found only when the file is to be written.
    symlinkSync('/proc/self/settings.json', join(home, '.gemini/settings.json'))
    const before = filesIn(home)
    const { code, err } = await oriel('connect', 'gemini-cli')
    expect(code).toBe(1)
    expect(err).toMatch(/settings\.json: .* Nothing was changed\./)
    expect(filesIn(home)).toEqual(before)
    expect(recordIn(home)).toBe('{}')
  })

  it.each([
    ['a folder', (path: string) => mkdirSync(path)],
    ['a link in a circle', (path: string) => symlinkSync(basename(path), path)],
    ['not UTF-8', (path: string) => writeFileSync(path, Buffer.from([0x7b, 0xff, 0x7d]))],
    ['a list', (path: string) => writeFileSync(path, '[]')],
    [
      'a link below a file',
      (path: string) => {
        writeFileSync(`${path}.txt`, '')
        symlinkSync(`${path}.txt/x`, path)
      },
    ],
  ])(
    '[CO2] a file of settings that is %s is refused by name, and other agents are connected',
    async (_what, make) => {
      const { home, oriel } = inHome()
      mkdirSync(join(home, '.claude'))
      make(join(home, '.claude/settings.json'))
      mkdirSync(join(home, '.codex'))
      const before = filesIn(home)
      const { code, err, out } = await oriel('connect')
      expect(code).toBe(1)
      expect(err).toMatch(/^oriel: claude-code: .*settings\.json: .* Nothing was changed\.\n$/)
      expect(out).toContain('codex: connected')
      await oriel('disconnect')
      expect(filesIn(home)).toEqual(before)
    },
  )

  it('[CO3] a file that became invalid stays, and the message says where its copy is', async () => {
    const { home, oriel } = inHome()
    const file = join(home, '.claude/settings.json')
    mkdirSync(dirname(file))
    writeFileSync(file, '{}')
    await oriel('connect', 'claude-code')
    writeFileSync(file, '{ "env": ')
    const { code, err } = await oriel('disconnect')
    expect(code).toBe(1)
    const [, copy = ''] = /It stays as it is\. As it was before: (.*)\.\n/.exec(err) ?? []
    expect(readFileSync(copy, 'utf8')).toBe('{}')
    expect(readFileSync(file, 'utf8')).toBe('{ "env": ')
    writeFileSync(file, '{}')
    expect((await oriel('disconnect')).out).toContain('as it was before')
    expect(recordIn(home)).toBe('{}')
  })

  it.each([
    ['claude-code', '.claude/settings.json', '{"model":"opus"} // end', '// new\n'],
    ['codex', '.codex/config.toml', 'model = "x" # c\r\n[a]\r\nb = 1', '# new\r\n'],
    ['opencode', '.config/opencode/opencode.jsonc', '{\n\t"provider": {}, // p\n}', '// new\n'],
    ['openclaw', '.openclaw/openclaw.json', '{ "models": { "providers": {} }, }', '// new\n'],
    ['pi', '.pi/agent/models.json', '{"providers":{"openai":{"a":1}}}', '\t\n'],
    ['qwen-code', '.qwen/.env', 'A=1', '# new\n'],
  ])(
    '[CO3] %s: of a file that was edited between connecting twice and disconnecting twice only the edit remains',
    async (agent, name, content, edit) => {
      const { home, oriel } = inHome()
      const file = join(home, name)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      await oriel('connect', agent)
      expect(readFileSync(file, 'utf8')).toContain('http://127.0.0.1:4141')
      writeFileSync(file, edit + readFileSync(file, 'utf8'))
      await oriel('connect', agent)
      expect((await oriel('disconnect', agent)).out).toContain('only the settings of Oriel')
      expect(readFileSync(file, 'utf8')).toBe(edit + content)
      expect(await oriel('disconnect', agent)).toMatchObject({ code: 1 })
      expect(readFileSync(file, 'utf8')).toBe(edit + content)
    },
  )

  it('[CO4] a dry run changes nothing; connecting twice is connecting once', async () => {
    const { home, oriel } = inHome()
    mkdirSync(join(home, '.codex'))
    writeFileSync(join(home, '.codex/config.toml'), 'model = "gpt-5"\n')
    const before = filesIn(home)
    mkdirSync(join(home, '.claude'))
    for (const words of [['--dry-run'], ['--dry-run', 'codex'], ['codex', '--dry-run']]) {
      const dry = await oriel('connect', ...words)
      expect(dry.out).toMatch(/codex: would be connected by base-url/)
      expect(dry.out.includes('claude-code')).toBe(words.length === 1)
      expect(filesIn(home)).toEqual({ ...before, '/.claude': 'a folder' })
    }
    expect(await oriel('connect', '--dry-run=codex')).toMatchObject({
      code: 2,
      err: 'oriel: --dry-run takes no value; oriel connect --help lists the options.\n',
    })
    rmdirSync(join(home, '.claude'))
    const dry = await oriel('connect', '--dry-run')
    expect(dry.out).toContain('openai_base_url: http://127.0.0.1:4141/v1')
    expect(filesIn(home)).toEqual(before)
    await oriel('connect', '--url', 'http://127.0.0.1:9999/')
    const once = filesIn(home)
    expect(once['/.codex/config.toml']).toBe(
      '644 openai_base_url = "http://127.0.0.1:9999/v1"\nmodel = "gpt-5"\n',
    )
    expect((await oriel('connect', 'codex')).out).toContain('connected already')
    expect(filesIn(home)).toEqual(once)
  })

  it('[CO1] changes nothing with --dry-run, wherever it stands', async () => {
    const { home, oriel } = inHome()
    const behind = await oriel('connect', 'codex', '--dry-run')
    expect(behind.out).toContain('codex: would be connected')
    expect(await oriel('connect', '--dry-run', 'codex')).toEqual(behind)
    expect(readdirSync(home)).toEqual([])
  })

  it('[CO4] says what it does not know, and what is not there', async () => {
    const { home, oriel } = inHome()
    expect(await oriel('connect')).toMatchObject({
      code: 1,
      out: expect.stringContaining('No agent was found'),
    })
    expect(await oriel('disconnect')).toMatchObject({ code: 1, out: 'Nothing is connected.\n' })
    expect((await oriel('connect', 'claude-cod')).err).toContain('did you mean claude-code')
    expect((await oriel('connect', 'codex', '--how', 'magic')).err).toContain(
      "--how cannot be 'magic'",
    )
    expect((await oriel('connect', 'codex', '--how', 'plugin')).err).toContain('it has no plugin')
    mkdirSync(join(home, '.claude'))
    writeFileSync(join(home, '.claude/settings.json'), '{ "env": ')
    expect(await oriel('connect', 'claude-code')).toMatchObject({
      code: 1,
      err: expect.stringContaining('not valid JSON'),
    })
    expect(existsSync(join(home, '.oriel'))).toBe(false)
  })

  it('has a base URL for every agent', () => {
    for (const agent of agents) {
      const changes = agent.baseUrl({ home: '/home/a', env: {} }, 'http://127.0.0.1:1')
      expect(changes.flatMap(({ settings }) => settings).length).toBeGreaterThan(0)
    }
  })
})
