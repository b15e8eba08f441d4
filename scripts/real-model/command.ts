// The command `npm run real-model`: its options, and every failure as one sentence that says what to do.

import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import OpenAI from 'openai'
import { lookupPrices, OrielError, type PolicyInput } from 'oriel'
import { type Outcome, type RunOptions, report, tryTasks } from './run.ts'

const help = `npm run real-model -- [options]

Tries Oriel with a real model: three long tasks, each with everything sent and with Oriel, judged by their answers, billed by the
provider's own usage. Needs a key in OPENAI_API_KEY, or a server of yours that speaks chat completions.

  --model <name>      default: gpt-5-mini
  --url <base url>    such as http://127.0.0.1:8000/v1; default: OpenAI, or OPENAI_BASE_URL
  --runs <count>      how often each task is tried, each time with other files; default: 3
  --policy <preset>   default: recommended
  --out <file>        also writes every outcome as JSON
`

export interface World {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly out: (text: string) => void
  readonly err: (text: string) => void
}

/** Resolves to the exit code: 0, or 2 where it could not run to its end. */
export async function realModel(words: readonly string[], world: World): Promise<number> {
  const { env, out, err } = world
  let given: Given
  try {
    given = read(words, env)
  } catch (error) {
    err(`real-model: ${sentence(error)} --help lists the options.\n`)
    return 2
  }
  if (given.isHelp) {
    out(help)
    return 0
  }
  const { model, policy, runs, url, apiKey } = given
  const client = new OpenAI({ apiKey, ...(url === undefined ? {} : { baseURL: url }) })
  err(`${6 * runs} conversations with ${model} at ${client.baseURL}, ${priceOf(model)}.\n`)
  const outcomes: Outcome[] = []
  const onOutcome = (outcome: Outcome): number => outcomes.push(outcome)
  const onProgress = (line: string): void => err(`${line}\n`)
  const options: RunOptions = { client, model, policy, runs, onOutcome, onProgress }
  const problem = await tryTasks(options).then(
    () => undefined,
    (error: unknown) => problemOf(error, { model, url: client.baseURL }),
  )
  if (outcomes.length > 0) out(report(outcomes))
  if (given.file !== undefined) writeFileSync(given.file, JSON.stringify(outcomes, null, 2))
  if (problem === undefined) return 0
  err(`real-model: ${problem}\n`)
  return 2
}

interface Given {
  readonly isHelp: boolean
  readonly model: string
  readonly apiKey: string
  readonly url?: string
  readonly runs: number
  readonly policy: PolicyInput
  readonly file?: string
}

function read(words: readonly string[], env: World['env']): Given {
  const { values } = parseArgs({
    args: [...words],
    options: {
      help: { type: 'boolean', short: 'h', default: false },
      model: { type: 'string', default: 'gpt-5-mini' },
      url: { type: 'string' },
      runs: { type: 'string', default: '3' },
      policy: { type: 'string', default: 'recommended' },
      out: { type: 'string' },
    },
  })
  const runs = Number(values.runs)
  if (!Number.isInteger(runs) || runs < 1 || runs > 100) {
    throw new Error(`--runs must be a whole number from 1 to 100; got '${values.runs}'.`)
  }
  const url = values.url ?? env.OPENAI_BASE_URL
  if (url !== undefined && !/^https?:\/\/./.test(url)) {
    throw new Error(
      `--url must be the base URL of a server, such as http://127.0.0.1:8000/v1; got '${url}'.`,
    )
  }
  const apiKey = env.OPENAI_API_KEY ?? ''
  if (apiKey === '' && url === undefined && !values.help) {
    throw new Error('There is no key: set OPENAI_API_KEY, or name a server of yours with --url.')
  }
  return {
    ...{ isHelp: values.help, model: values.model, apiKey: apiKey || 'none', runs },
    // A wrong name is an error that lists the right ones.
    policy: values.policy as PolicyInput,
    ...(url === undefined ? {} : { url }),
    ...(values.out === undefined ? {} : { file: values.out }),
  }
}

function priceOf(model: string): string {
  const { inputDollars, outputDollars } = lookupPrices({ model })
  if (inputDollars === undefined) return 'whose price is not in the catalogue'
  return `$${inputDollars} for a million input tokens, $${outputDollars ?? 0} for a million of output`
}

interface Asked {
  readonly model: string
  readonly url: string
}

/** Why the run stopped, and what to do. */
function problemOf(error: unknown, { model, url }: Asked): string {
  if (error instanceof OpenAI.APIConnectionError) {
    return `No server answers at ${url}. Check the address, and that the server runs.`
  }
  if (!(error instanceof OpenAI.APIError)) return sentence(error)
  const said = `It said: ${error.message.slice(0, 300)}`
  switch (error.status) {
    case 401:
    case 403:
      return `${url} refuses the key. Check OPENAI_API_KEY. ${said}`
    case 404:
      return `${url} has no model '${model}', or no chat completions. Check --model, and that --url ends as the server wants it, often with /v1. ${said}`
    case 429:
      return `${url} limits the rate, or the account has no credit. Try again later, or --runs 1. ${said}`
    default:
      return `${url} refused a request. ${said}`
  }
}

function sentence(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  const isOwn = OrielError.is(error) || error instanceof Error
  const text = isOwn ? message.split('\n')[0] : 'Something failed without saying why'
  return /[.?!]$/.test(text ?? '') ? `${text}` : `${text}.`
}

if (import.meta.main) {
  process.exitCode = await realModel(process.argv.slice(2), {
    env: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  })
}
