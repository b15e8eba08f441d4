// Package version, read from package.json.

import { readFileSync } from 'node:fs'

const manifest = new URL('../package.json', import.meta.url)

export const version = String(
  (JSON.parse(readFileSync(manifest, 'utf8')) as { version: unknown }).version,
)
