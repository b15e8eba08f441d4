// Lets a process of a test run the workspace's packages from their sources, as the tests themselves do:
// `node --import ./scripts/sources.ts file.ts`. Without it, names of packages lead to what was last built.

import { registerHooks } from 'node:module'

const sources: Readonly<Record<string, string>> = {
  oriel: '../packages/oriel/src/index.ts',
  'oriel/providers': '../packages/oriel/src/providers/index.ts',
  'oriel/stores': '../packages/oriel/src/stores/index.ts',
  'oriel/simulate': '../packages/oriel/src/simulate/index.ts',
  'oriel/testing': '../packages/oriel/src/testing/index.ts',
  '@oriel/gateway': '../packages/gateway/src/index.ts',
  '@oriel/cli': '../packages/cli/src/index.ts',
}

registerHooks({
  resolve(specifier, context, next) {
    const source = sources[specifier]
    return source === undefined
      ? next(specifier, context)
      : { url: new URL(source, import.meta.url).href, shortCircuit: true }
  },
})
