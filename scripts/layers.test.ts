// Plants allowed and forbidden imports in every layer and sees which ones are reported.

import { describe, expect, it } from 'vitest'
import { violationsIn } from './layers.ts'

interface Layer {
  readonly file: string
  readonly allowed: readonly string[]
  readonly forbidden: readonly string[]
}

const source = 'packages/oriel/src'
const outside = [
  'oriel',
  'oriel/testing',
  '@oriel/cli',
  '@oriel/gateway',
  '../../../cli/src/index.ts',
]
/** Paths that reach a forbidden place through an allowed one. */
const detours = ['./../thread/thread.ts', '../core/../thread/thread.ts']

const layers: Readonly<Record<string, Layer>> = {
  core: {
    file: `${source}/core/planted.ts`,
    allowed: ['./entry.ts'],
    forbidden: [
      '../rules/history.ts',
      '../schedule/budget-ladder.ts',
      '../providers/format.ts',
      '../stores/store.ts',
      '../project.ts',
      '../thread/thread.ts',
      '../testing/index.ts',
      'node:crypto',
      'crypto',
      'zod',
      ...detours,
      ...outside,
    ],
  },
  rules: {
    file: `${source}/rules/planted.ts`,
    allowed: ['./rule.ts', '../core/log/entry.ts', 'zod'],
    forbidden: [
      '../schedule/budget-ladder.ts',
      '../providers/format.ts',
      '../stores/store.ts',
      '../project.ts',
      '../thread/thread.ts',
      '../testing/index.ts',
      'node:fs',
      ...detours,
      ...outside,
    ],
  },
  schedule: {
    file: `${source}/schedule/planted.ts`,
    allowed: ['./budget-ladder.ts', '../core/log/entry.ts', 'zod'],
    forbidden: [
      '../rules/history.ts',
      '../providers/format.ts',
      '../stores/store.ts',
      '../project.ts',
      '../thread/thread.ts',
      ...detours,
      ...outside,
    ],
  },
  providers: {
    file: `${source}/providers/planted.ts`,
    allowed: ['./stream.ts', './anthropic/stream.ts', '../core/log/json.ts'],
    forbidden: [
      '../rules/history.ts',
      '../schedule/prices.ts',
      '../stores/store.ts',
      '../thread/thread.ts',
      'node:crypto',
      'zod',
      ...detours,
      ...outside,
    ],
  },
  'one provider': {
    file: `${source}/providers/anthropic/planted.ts`,
    allowed: ['./stream.ts', '../stream.ts', '../../core/log/json.ts'],
    forbidden: [
      '../../rules/history.ts',
      '../../thread/thread.ts',
      '../../core/../thread/thread.ts',
      './../../thread/thread.ts',
      'node:crypto',
      'zod',
      ...outside,
    ],
  },
  stores: {
    file: `${source}/stores/planted.ts`,
    allowed: ['./store.ts', '../core/log/entry.ts', 'node:sqlite', 'kysely'],
    forbidden: [
      '../rules/history.ts',
      '../schedule/budget-ladder.ts',
      '../providers/format.ts',
      '../project.ts',
      '../thread/thread.ts',
      ...detours,
      ...outside,
    ],
  },
  'project and its neighbours': {
    file: `${source}/planted.ts`,
    allowed: [
      './policy.ts',
      './core/log/entry.ts',
      './rules/history.ts',
      './schedule/budget-ladder.ts',
      './providers/format.ts',
      './providers/stream.ts',
      './stores/store.ts',
      'zod',
    ],
    forbidden: [
      './index.ts',
      './thread/thread.ts',
      './simulate/replay.ts',
      './integrations/ai-sdk.ts',
      './testing/index.ts',
      './core/../thread/thread.ts',
      '../src/thread/thread.ts',
      ...outside,
    ],
  },
  'the public surface': {
    file: `${source}/index.ts`,
    allowed: ['./project.ts', './core/log/errors.ts', './thread/thread.ts', './simulate/replay.ts'],
    forbidden: ['./testing/index.ts', '../test/planted.ts', ...outside],
  },
  thread: {
    file: `${source}/thread/planted.ts`,
    allowed: [
      './events.ts',
      '../project.ts',
      '../core/log/entry.ts',
      '../rules/history.ts',
      '../schedule/budget-ladder.ts',
      '../providers/format.ts',
      '../providers/stream.ts',
      '../stores/store.ts',
    ],
    forbidden: [
      '../index.ts',
      '../simulate/replay.ts',
      '../integrations/ai-sdk.ts',
      '../testing/index.ts',
      '../core/../simulate/replay.ts',
      ...outside,
    ],
  },
  simulate: {
    file: `${source}/simulate/planted.ts`,
    allowed: ['./replay.ts', '../project.ts', '../thread/thread.ts', '../core/log/entry.ts'],
    forbidden: ['../index.ts', '../integrations/ai-sdk.ts', '../testing/index.ts', ...outside],
  },
  integrations: {
    file: `${source}/integrations/planted.ts`,
    allowed: [
      './ai-sdk.ts',
      '../project.ts',
      '../providers/stream.ts',
      '../providers/anthropic/stream.ts',
      '../thread/thread.ts',
      '../core/log/entry.ts',
    ],
    forbidden: ['../index.ts', '../simulate/replay.ts', '../testing/index.ts', ...outside],
  },
  testing: {
    file: `${source}/testing/planted.ts`,
    allowed: [
      '../core/log/entry.ts',
      '../providers/format.ts',
      '../thread/thread.ts',
      '../index.ts',
      'vitest',
    ],
    forbidden: ['@oriel/cli', '../../../cli/src/index.ts'],
  },
  'a folder inside core': {
    file: `${source}/core/log/planted.ts`,
    allowed: ['./entry.ts', '../state/state.ts'],
    forbidden: ['../../rules/history.ts', '../../thread/thread.ts', 'node:crypto', 'zod'],
  },
  'a folder inside the stores': {
    file: `${source}/stores/sqlite/planted.ts`,
    allowed: ['./schema.ts', '../store.ts', '../../core/log/entry.ts', 'node:sqlite'],
    forbidden: ['../../providers/format.ts', '../../thread/thread.ts', '../../project.ts'],
  },
  'a folder inside the thread': {
    file: `${source}/thread/journal/planted.ts`,
    allowed: ['../events.ts', '../../project.ts', '../../stores/store.ts'],
    forbidden: ['../../index.ts', '../../simulate/replay.ts', '../../testing/index.ts'],
  },
  cli: {
    file: 'packages/cli/src/planted.ts',
    allowed: ['./main.ts', '../package.json', 'oriel', '@oriel/gateway', 'node:fs'],
    forbidden: [
      '../../oriel/src/index.ts',
      '../../oriel/dist/index.js',
      '../../../packages/oriel/src/index.ts',
      'oriel/src/core/entry.ts',
      'oriel/dist/index.js',
    ],
  },
  studio: {
    file: 'packages/studio/src/planted.ts',
    allowed: ['./contract.ts', 'react', 'uplot', 'oriel/providers'],
    forbidden: [
      'oriel',
      'oriel/simulate',
      '@oriel/gateway',
      '../../gateway/src/index.ts',
      '../../oriel/src/index.ts',
      'node:fs',
    ],
  },
  examples: {
    file: 'examples/planted.ts',
    allowed: ['oriel', 'node:fs'],
    forbidden: ['../packages/oriel/src/index.ts'],
  },
}

const shapes = {
  'export { planted } from': "export { planted } from '../thread/thread.ts'",
  'import()': "export const planted = await import('../thread/thread.ts')",
  'import().Type': "export type Planted = import('../thread/thread.ts').Thread",
  'typeof import()': "export type Planted = typeof import('../thread/thread.ts')",
}

describe('the layer rule', () => {
  it.each(Object.entries(layers))('catches what %s must not import, and only that', (_, layer) => {
    const text = importAll([...layer.allowed, ...layer.forbidden])
    const caught = violationsIn(layer.file, text).map(({ specifier }) => specifier)
    expect(caught).toEqual(layer.forbidden)
  })

  it.each(Object.entries(shapes))('catches a forbidden import written as %s', (_, text) => {
    expect(violationsIn(`${source}/core/log/shapes.ts`, text.replaceAll('../', '../../'))).toEqual([
      { file: `${source}/core/log/shapes.ts`, line: 1, specifier: '../../thread/thread.ts' },
    ])
  })

  it('reports the line on which a long import ends', () => {
    const text = "import { a } from './a.ts'\nimport {\n  b,\n} from '../thread/thread.ts'\n"
    expect(violationsIn(`${source}/core/planted.ts`, text)).toMatchObject([{ line: 4 }])
  })

  it('takes no text and no comment for an import', () => {
    const text = "// taken from '../thread/thread.ts'\nconst words = `from '../thread/thread.ts'`\n"
    expect(violationsIn(`${source}/core/planted.ts`, text)).toEqual([])
  })
})

function importAll(specifiers: readonly string[]): string {
  return specifiers.map((specifier) => `import '${specifier}'\n`).join('')
}
