import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSettings } from './settings.ts'

let folder: string

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'oriel-settings-'))
})

afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

function policyFile(name: string, text: string): string {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

describe('readSettings', () => {
  it('has defaults', () => {
    expect(readSettings({ content: true })).toEqual({
      top: 5,
      isJson: false,
      isStrict: false,
      showContent: true,
    })
  })

  it('reads every option', () => {
    const policy = policyFile('policy.json', '{"history":{"length":3}}')
    const raw = { format: 'anthropic', tokens: 'estimate', conversation: 7, budget: '32k', top: 9 }
    expect(readSettings({ ...raw, policy, json: true, strict: true, content: false })).toEqual({
      format: 'anthropic',
      tokens: 'estimate',
      conversation: 7,
      policy: { name: policy, policy: { history: { length: 3 } } },
      budget: 32_000,
      top: 9,
      isJson: true,
      isStrict: true,
      showContent: false,
    })
  })

  it.each([
    [{ format: 'telegraph' }, "--format cannot be 'telegraph'; allowed: openai-chat"],
    [{ tokens: 'cl100k' }, "--tokens cannot be 'cl100k'; allowed: estimate, o200k."],
    [{ budget: 0 }, '--budget must be a whole number above 0'],
    [{ budget: -5 }, '--budget must be a whole number above 0'],
    [{ budget: '1.5k' }, '--budget must be a whole number above 0'],
    [{ top: 'many' }, '--top must be a whole number above 0'],
    [{ top: [1, 2] }, '--top takes one value; give it once.'],
    [
      { policy: 'histroy-window' },
      "called 'histroy-window', did you mean history-window; presets: ",
    ],
  ])('refuses %j', (raw, message) => {
    expect(() => readSettings(raw)).toThrow(message)
  })

  it('refuses a policy file that is not JSON, or not a policy', () => {
    const torn = policyFile('torn.json', '{"history":')
    expect(() => readSettings({ policy: torn })).toThrow('torn.json is not JSON')
    const wrong = policyFile('wrong.json', '{"histori":{}}')
    expect(() => readSettings({ policy: wrong })).toThrow("did you mean 'history'?")
  })
})
