import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import * as fc from 'fast-check'
import { stringify as writeToml } from 'smol-toml'
import { afterAll, describe, expect, it } from 'vitest'
import { main } from '../main.ts'
import type { Terminal } from '../terminal.ts'
import { agents } from './agents.ts'
import { type FileFormat, read, withoutSettings, withSettings } from './settings-file.ts'

const scratch = mkdtempSync(join(tmpdir(), 'oriel-connect-'))
afterAll(() => rmSync(scratch, { recursive: true }))
let homes = 0

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

function inHome(): { home: string; oriel(...words: string[]): Promise<Ran> } {
  const home = join(scratch, String(homes++))
  mkdirSync(home)
  return {
    home,
    async oriel(...words) {
      const [out, err]: [string[], string[]] = [[], []]
      const terminal: Terminal = {
        stdin: (async function* () {})(),
        stdout: { write: (text) => out.push(text) },
        stderr: { write: (text) => err.push(text) },
        env: { HOME: home, PATH: '', NO_COLOR: '1' },
        now: () => 0,
      }
      const code = await main(['node', 'oriel', ...words], terminal)
      return { code, out: out.join(''), err: err.join('') }
    },
  }
}

/** Every file below a folder, by its path in it. */
function filesIn(folder: string): Record<string, string> {
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
  return Object.fromEntries(
    paths
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name))
      .map((path) => [path.slice(folder.length), readFileSync(path).toString('latin1')]),
  )
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

const cases: readonly {
  how?: 'plugin'
  agent: string
  path: string
  format: FileFormat
  text: fc.Arbitrary<string>
}[] = [
  { agent: 'claude-code', path: '.claude/settings.json', format: 'json', text: jsonText },
  { agent: 'opencode', path: '.config/opencode/opencode.jsonc', format: 'json', text: jsonText },
  { agent: 'pi', path: '.pi/agent/models.json', format: 'json', text: jsonText },
  {
    agent: 'claude-code',
    path: '.claude/settings.json',
    format: 'json',
    text: jsonText,
    how: 'plugin',
  },
  {
    agent: 'opencode',
    path: '.config/opencode/opencode.json',
    format: 'json',
    text: jsonText,
    how: 'plugin',
  },
  { agent: 'pi', path: '.pi/agent/settings.json', format: 'json', text: jsonText, how: 'plugin' },
  { agent: 'codex', path: '.codex/config.toml', format: 'toml', text: tomlText },
  { agent: 'qwen-code', path: '.qwen/.env', format: 'env', text: envText },
  { agent: 'gemini-cli', path: '.gemini/.env', format: 'env', text: envText },
]

describe('connecting an agent', () => {
  it.each(cases)(
    '[CO1] $agent $how: disconnecting leaves $path byte for byte as it was',
    async ({ agent, path, format, text, how = 'base-url' }) => {
      const seen = { changed: 0 }
      await fc.assert(
        fc.asyncProperty(fc.option(text, { nil: undefined }), async (content) => {
          const { home, oriel } = inHome()
          const file = join(home, path)
          if (content !== undefined) {
            mkdirSync(dirname(file), { recursive: true })
            writeFileSync(file, content)
          }
          const before = filesIn(home)
          const { code, err } = await oriel('connect', agent, '--how', how)
          // A setting may stand where an object must be: then nothing is changed.
          if (code !== 0) {
            expect(err).toMatch(/Nothing was changed/)
            expect(filesIn(home)).toEqual(before)
            return
          }
          const written = content === undefined ? undefined : readFileSync(file, 'utf8')
          if (written !== undefined && written !== content) seen.changed += 1
          const set = how === 'plugin' ? `plugins/${agent}` : 'http://127.0.0.1:4141'
          if (written !== undefined) expect(JSON.stringify(read(written, format))).toContain(set)
          await oriel('disconnect', agent)
          const { '/.oriel/connections.json': record, ...after } = filesIn(home)
          expect(record?.trim()).toBe('{}')
          expect(after).toEqual(before)
        }),
        { numRuns: 40 },
      )
      expect(seen.changed).toBeGreaterThan(0)
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
          const back = withoutSettings(set.text, set.before, format)
          const kept = JSON.parse(JSON.stringify(read(back, format)))
          if (path.length === 2 && !('env' in before)) delete kept.env
          expect(kept).toEqual(JSON.parse(JSON.stringify(before)))
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

  it('[CO4] a dry run changes nothing; connecting twice is connecting once', async () => {
    const { home, oriel } = inHome()
    mkdirSync(join(home, '.codex'))
    writeFileSync(join(home, '.codex/config.toml'), 'model = "gpt-5"\n')
    const before = filesIn(home)
    const dry = await oriel('connect', '--dry-run')
    expect(dry.out).toMatch(/codex: would be connected by base-url/)
    expect(dry.out).toContain('openai_base_url: http://127.0.0.1:4141/v1')
    expect(filesIn(home)).toEqual(before)
    await oriel('connect', '--url', 'http://127.0.0.1:9999/')
    const once = filesIn(home)
    expect(once['/.codex/config.toml']).toBe(
      'openai_base_url = "http://127.0.0.1:9999/v1"\nmodel = "gpt-5"\n',
    )
    expect((await oriel('connect', 'codex')).out).toContain('connected already')
    expect(filesIn(home)).toEqual(once)
  })

  it('[CO4] says what it does not know, and what is not there', async () => {
    const { home, oriel } = inHome()
    expect(await oriel('connect')).toMatchObject({
      code: 1,
      out: expect.stringContaining('No agent was found'),
    })
    expect(await oriel('disconnect')).toMatchObject({ code: 1, out: 'Nothing is connected.\n' })
    expect((await oriel('connect', 'claude-cod')).err).toContain("Did you mean 'claude-code'?")
    expect((await oriel('connect', 'codex', '--how', 'magic')).err).toContain('--how must be')
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
