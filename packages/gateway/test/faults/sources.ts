// Loaded before the processes of the fault tests: the packages of this repository are taken from their sources, as the tests themselves do,
// and not from a build that may be older.

import { registerHooks } from 'node:module'

const packages = new URL('../../../', import.meta.url)
const sources: Readonly<Record<string, string>> = {
  oriel: 'oriel/src/index.ts',
  'oriel/simulate': 'oriel/src/simulate/index.ts',
  'oriel/testing': 'oriel/src/testing/index.ts',
  '@oriel/gateway': 'gateway/src/index.ts',
  '@oriel/cli': 'cli/src/index.ts',
}

registerHooks({
  resolve(specifier, context, next) {
    const source = sources[specifier]
    return source === undefined
      ? next(specifier, context)
      : { url: new URL(source, packages).href, shortCircuit: true }
  },
})
