// Recording: a client, its script, and its driver.

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Fixture } from './fixture.ts'
import { cleanExchange } from './fixture.ts'
import type { MakeId, WireFormat } from './reply.ts'
import { createIds } from './reply.ts'
import { editedQuestion, firstQuestion, secondQuestion, thanks, weatherSteps } from './scenario.ts'
import type { Step } from './script.ts'
import { Script } from './script.ts'
import { startServer } from './server.ts'

export interface Recording {
  /** Names the fixture's file. */
  readonly name: string
  /** The package that sends the requests. */
  readonly client: string
  readonly format: WireFormat
  readonly description: string
  /** @default the weather conversation */
  readonly steps?: readonly Step[]
  /** Call ids count from 0 in every answer, as some servers do. */
  readonly hasWeakIds?: boolean
  /** Takes the client through the script against the server at this address. */
  run(url: string): Promise<void>
}

/** A client that keeps its history as a list. */
export interface Talker<M> {
  user(text: string): M
  /** Sends the list, runs tools until the model is done, and returns the list with everything new at its end. */
  run(history: readonly M[]): Promise<readonly M[]>
}

const timeoutMs = 60_000

/** The weather conversation: see `weatherSteps` for what each call asks for. */
export async function converse<M>(talker: Talker<M>): Promise<void> {
  const first = await talker.run([talker.user(firstQuestion)])
  await talker.run([...first, talker.user(secondQuestion)])
  await talker.run([...first, talker.user(editedQuestion)])
  const fresh = await talker.run([talker.user(firstQuestion)])
  await talker.run([...fresh, talker.user(thanks)])
}

/** Two turns only, for scripts that are about one message. */
export async function converseBriefly<M>(talker: Talker<M>): Promise<void> {
  const first = await talker.run([talker.user(firstQuestion)])
  await talker.run([...first, talker.user(secondQuestion)])
}

/** Runs one recording. Fails if the client asked for less or more than the script holds. */
export async function record(recording: Recording): Promise<Fixture> {
  const script = new Script({ main: recording.steps ?? weatherSteps() })
  const server = await startServer({
    seed: recording.name,
    answer: (asked) => script.answer(asked),
    ...(recording.hasWeakIds === true ? { makeId: weakIds() } : {}),
  })
  try {
    await withTimeout(recording.run(server.url), recording.name)
  } finally {
    await server.close()
  }
  if (script.unused.length > 0) {
    throw new Error(`${recording.name} never asked for: ${script.unused.join(', ')}`)
  }
  const { client, format, description } = recording
  return {
    client,
    version: versionOf(client),
    format,
    description,
    requests: server.exchanges.map((exchange) => cleanExchange(exchange)),
    expected: script.expected(server.exchanges),
  }
}

function weakIds(): MakeId {
  const makeId = createIds('weak')
  let count = 0
  return (prefix) => {
    if (prefix === 'chatcmpl') count = 0
    if (prefix !== 'call') return makeId(prefix)
    count += 1
    return `call_${count - 1}`
  }
}

async function withTimeout(work: Promise<void>, name: string): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const expiry = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${name} took longer than ${timeoutMs} ms`)),
      timeoutMs,
    )
  })
  try {
    await Promise.race([work, expiry])
  } finally {
    clearTimeout(timer)
  }
}

/** The version of an installed package, read from its own package.json. */
export function versionOf(name: string, from: string = import.meta.url): string {
  const require = createRequire(from)
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      const text = readFileSync(`${folder}/${name}/package.json`, 'utf8')
      return (JSON.parse(text) as { version: string }).version
    } catch {
      // Not in this folder: look in the next one up, as Node does.
    }
  }
  throw new Error(`${name} is not installed`)
}
