import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { realModel } from './command.ts'
import { report, tryTasks } from './run.ts'

interface Message {
  readonly role: string
  readonly content: string | null
  readonly tool_call_id?: string
  readonly tool_calls?: readonly {
    readonly id: string
    readonly function: { readonly arguments: string }
  }[]
}

/**
 * A model that knows only what its request shows: it reads the files that it is told to, one in each call, and answers from the lines in
 * front of it, in results and in notes, or by looking them up.
 */
function answer(
  messages: readonly Message[],
  canSearch: boolean,
): { readonly content: string | null; readonly call?: readonly [string, object] } {
  const asked = messages.findLast(({ role, content }) => role === 'user' && isAsked(content))
  const text = asked?.content ?? ''
  const lines = linesIn(messages)
  const isRead = new Set(lines.map(({ file }) => file))
  const files = [...text.matchAll(/[a-z]+\/[a-z]+-\d+\.\w+/g)].map(([path]) => path)
  const path = files.find((file) => !isRead.has(file))
  if (path !== undefined) return { content: null, call: ['read_file', { path }] }
  const all = messages.map(({ content }) => content ?? '').join('\n')
  const rule = /end every answer with (REF-\d+)/.exec(all)?.[1] ?? ''
  const { said, missing } = factsIn(text, lines)
  // What is not in sight is looked up, or read again.
  const isLookedUp = messages.some((one) => JSON.stringify(one.tool_calls ?? '').includes(searched))
  if (missing?.endsWith('.txt') === true)
    return { content: null, call: ['read_file', { path: missing }] }
  if (missing !== undefined && canSearch && !isLookedUp) {
    return { content: null, call: [searched, { query: missing }] }
  }
  return { content: `${said} ${rule}`.trim() }
}

const searched = 'search_conversation'

function isAsked(content: string | null): boolean {
  return /^(?:Read|Which|What|Thanks|From now on)\b/.test(content ?? '')
}

interface Line {
  readonly file: string
  readonly text: string
}

/** Every line that is shown, with the file it is from: by the call that it answers, or by the name above it in the notes. */
function linesIn(messages: readonly Message[]): readonly Line[] {
  const paths = new Map(
    messages.flatMap(({ tool_calls = [] }) =>
      tool_calls.map((call) => [call.id, /"path":"([^"]+)"/.exec(call.function.arguments)?.[1]]),
    ),
  )
  return messages.flatMap(({ content, tool_call_id: id }) => {
    let file = (id === undefined ? undefined : paths.get(id)) ?? ''
    return (content ?? '').split('\n').map((text) => {
      file = named.exec(text)?.[1] ?? file
      return { file, text }
    })
  })
}

/** A file's name above its lines: in the notes, and in what a lookup finds. */
const named = /^(?:(?:- read_file )?|\(after assistant: .*?)([a-z]+\/[a-z]+-\d+\.\w+)(?::|".*)/

/** The answer as far as it is in sight, and what is not. */
function factsIn(
  asked: string,
  lines: readonly Line[],
): { readonly said: string; readonly missing?: string } {
  const incident = /INC-\d+/.exec(asked)?.[0]
  if (incident !== undefined) {
    const found = lines.find((line) => line.text.includes(`incident ${incident} opened`))
    if (found === undefined) return { said: 'I do not know.', missing: incident }
    return { said: `${found.file}, owned by ${/owner=(\w+)/.exec(found.text)?.[1]}` }
  }
  const accounts = /of the accounts ([\d, ]+)\?/.exec(asked)?.[1]?.split(', ') ?? []
  if (accounts.length === 0) return { said: 'Done.' }
  let total = 0
  for (const account of accounts) {
    const path = `ledger/account-${account}.txt`
    const own = lines.find(({ file, text }) => file === path && text.includes('closing'))
    if (own === undefined) return { said: 'I do not know.', missing: path }
    total += Number(/balance: (\d+)/.exec(own.text)?.[1])
  }
  return { said: String(total) }
}

const sizes: number[] = []
const server = createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString('utf8')
  sizes.push(text.length)
  const {
    model,
    messages,
    tools = [],
  } = JSON.parse(text) as {
    readonly model: string
    readonly messages: readonly Message[]
    readonly tools?: readonly { readonly function: { readonly name: string } }[]
  }
  const canSearch = tools.some((tool) => tool.function.name === searched)
  const { content, call } = answer(messages, canSearch)
  const [name, input] = call ?? []
  const own = { name, arguments: JSON.stringify(input) }
  const calls = [{ id: `call_${sizes.length}`, type: 'function', function: own }]
  const message = {
    role: 'assistant',
    content,
    ...(call === undefined ? {} : { tool_calls: calls }),
  }
  const tokens = Math.round(text.length / 4)
  const usage = { prompt_tokens: tokens, completion_tokens: 5, total_tokens: tokens + 5 }
  if (request.headers.authorization === 'Bearer wrong' || model === 'no-such-model') {
    const isKey = model !== 'no-such-model'
    response.writeHead(isKey ? 401 : 404, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ error: { message: isKey ? 'Bad key.' : 'No such model.' } }))
    return
  }
  response.writeHead(200, { 'content-type': 'application/json' })
  const choices = [{ index: 0, message, finish_reason: call === undefined ? 'stop' : 'tool_calls' }]
  response.end(
    JSON.stringify({ id: 'c', object: 'chat.completion', model: 'gpt-5-mini', choices, usage }),
  )
})

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
})

it('tries every task in both ways, and reports what was solved and used', async () => {
  const { port } = server.address() as AddressInfo
  const client = new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1` })
  const outcomes = await tryTasks({ client, model: 'gpt-5-mini', runs: 1 })
  expect(outcomes).toHaveLength(6)
  const [everything = 0, managed = 0] = ['everything', 'oriel'].map((way) =>
    outcomes.filter((one) => one.way === way).reduce((sum, one) => sum + one.inputTokens, 0),
  )
  expect(managed).toBeLessThan(0.8 * everything)
  expect(outcomes.filter(({ isSolved }) => !isSolved)).toEqual([])
  expect(report(outcomes)).toMatch(/\| house rule \| with Oriel \| 1 of 1 \| \d+ \| \d+ \| 0 % \|/)
})

interface Ran {
  readonly code: number
  readonly out: string
  readonly err: string
}

async function command(words: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  let [out, err] = ['', '']
  const code = await realModel(words, {
    env,
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err }
}

describe('npm run real-model', () => {
  const url = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`

  it('prints a table, and beforehand what it will do', async () => {
    const { code, out, err } = await command(['--url', url(), '--runs', '1'])
    expect(code).toBe(0)
    expect(out).toContain('| all | with Oriel | 3 of 3 |')
    expect(err).toMatch(/^6 conversations with gpt-5-mini at http:.*, \$0\.25 for a million input/)
  })

  it.each([
    [[], {}, /^real-model: There is no key: set OPENAI_API_KEY, or name a server .* --help lists/],
    [['--modle', 'x'], {}, /^real-model: Unknown option '--modle'.* --help lists the options\.\n$/],
    [['--runs', 'x'], {}, /^real-model: --runs must be a whole number from 1 to 100; got 'x'\./],
    [['--url', 'x'], {}, /^real-model: --url must be the base URL of a server, such as http/],
    [['--url', 'http://127.0.0.1:1/v1'], {}, /\nreal-model: No server answers at http:.*127/],
    [['--url', 'here'], { OPENAI_API_KEY: 'wrong' }, /refuses the key\. Check .*Bad key\.\n$/],
    [['--url', 'here', '--model', 'no-such-model'], {}, /has no model 'no-such-model'.*Check --m/],
    [['--url', 'here', '--policy', 'recomended'], {}, /recomended.*did you mean 'recommended'/i],
  ])(
    'says in one sentence what is wrong with %j',
    async (words, env, said) => {
      const own = words.map((word) => (word === 'here' ? url() : word))
      const { code, out, err } = await command(own, env as Record<string, string>)
      expect({ code, out }).toEqual({ code: 2, out: '' })
      expect(err).toMatch(said)
      expect(err).not.toContain('    at ')
    },
    60_000,
  )

  it('explains itself', async () => {
    const { code, out } = await command(['--help'])
    expect(code).toBe(0)
    for (const option of ['--model', '--url', '--runs', '--policy', '--out']) {
      expect(out).toContain(option)
    }
  })
})
