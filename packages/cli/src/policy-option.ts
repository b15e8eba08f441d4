// The value of `--policy`: the name of a preset, or a file with a policy.

import { readFileSync } from 'node:fs'
import { OrielError, type PolicyInput, presets, project } from 'oriel'
import { didYouMean } from './names.ts'

export interface PolicyOption {
  readonly name: string
  readonly policy: PolicyInput
}

/** Throws 'invalid-option' where there is neither, 'invalid-policy' for a policy that is wrong. */
export function readPolicy(name: string): PolicyOption {
  const policy = Object.hasOwn(presets, name)
    ? (name as keyof typeof presets)
    : (readJson(name) as PolicyInput)
  // Validates the policy at once.
  project([{ role: 'user', content: 'Hello.' }], policy)
  return { name, policy }
}

function readJson(file: string): unknown {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (cause) {
    const names = Object.keys(presets)
    const problem = `there is no preset and no file called '${file}'${didYouMean(file, names)}`
    throw wrong(`--policy: ${problem}; presets: ${names.join(', ')}.`, cause)
  }
  try {
    return JSON.parse(text)
  } catch (cause) {
    const advice = 'write a policy such as {"history":{"length":20}}'
    throw wrong(`--policy: ${file} is not JSON; ${advice}.`, cause)
  }
}

function wrong(message: string, cause: unknown): OrielError {
  return new OrielError('invalid-option', message, { cause })
}
