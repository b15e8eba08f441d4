import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { generatedTables } from './catalogue.ts'

it('[W1] the tables of models are those of the installed catalogue', async () => {
  for (const [name, text] of Object.entries(await generatedTables())) {
    const file = new URL(`../packages/oriel/src/schedule/${name}`, import.meta.url)
    expect(readFileSync(file, 'utf8') === text, `run node scripts/catalogue.ts: ${name}`).toBe(true)
  }
})
