// The version in package.json, so that it is written in one place.

import { readFileSync } from 'node:fs'

const manifest = new URL('../package.json', import.meta.url)

export const version = String(
  (JSON.parse(readFileSync(manifest, 'utf8')) as { version: unknown }).version,
)
