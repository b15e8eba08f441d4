// Module resolution hook: lets a test's child process run the workspace's packages from their
// sources, as the tests do. `node --import ./scripts/sources.ts file.ts`. Without it, package names
// resolve to the last build.

import { registerHooks } from 'node:module'

const sources: Readonly<Record<string, string>> = {
  oriel: '../packages/oriel/src/index.ts',
  'oriel/agents': '../packages/oriel/src/integrations/agents.ts',
  'oriel/project': '../packages/oriel/src/browser.ts',
  'oriel/providers': '../packages/oriel/src/providers/index.ts',
  'oriel/compat': '../packages/oriel/src/compat/index.ts',
  'oriel/inspect': '../packages/oriel/src/inspect/index.ts',
  'oriel/internal': '../packages/oriel/src/internal/index.ts',
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
