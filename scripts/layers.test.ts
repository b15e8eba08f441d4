// Imports point one way. This plants imports in a copy of the tree, beside a copy of biome.json, and sees
// which ones the linter catches. A copy, so that a run that is killed leaves nothing behind in the real folders.

import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'

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
      '../schedule/fit.ts',
      '../formats/format.ts',
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
    allowed: ['./rule.ts', '../core/entry.ts', 'zod'],
    forbidden: [
      '../schedule/fit.ts',
      '../formats/format.ts',
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
    allowed: ['./fit.ts', '../core/entry.ts', 'zod'],
    forbidden: [
      '../rules/history.ts',
      '../formats/format.ts',
      '../stores/store.ts',
      '../project.ts',
      '../thread/thread.ts',
      ...detours,
      ...outside,
    ],
  },
  formats: {
    file: `${source}/formats/planted.ts`,
    allowed: ['./format.ts', '../core/entry.ts', 'zod'],
    forbidden: [
      '../rules/history.ts',
      '../schedule/fit.ts',
      '../stores/store.ts',
      '../policy.ts',
      '../thread/thread.ts',
      ...detours,
      ...outside,
    ],
  },
  providers: {
    file: `${source}/providers/planted.ts`,
    allowed: ['./stream.ts', './anthropic/stream.ts', '../core/json.ts'],
    forbidden: [
      '../rules/history.ts',
      '../formats/format.ts',
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
    allowed: ['./stream.ts', '../stream.ts', '../../core/json.ts'],
    forbidden: [
      '../openai-chat/stream.ts',
      '../../formats/format.ts',
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
    allowed: ['./store.ts', '../core/entry.ts', 'node:sqlite', 'kysely'],
    forbidden: [
      '../rules/history.ts',
      '../schedule/fit.ts',
      '../formats/format.ts',
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
      './core/entry.ts',
      './rules/history.ts',
      './schedule/fit.ts',
      './formats/format.ts',
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
    allowed: ['./project.ts', './core/errors.ts', './thread/thread.ts', './simulate/replay.ts'],
    forbidden: ['./testing/index.ts', '../test/planted.ts', ...outside],
  },
  thread: {
    file: `${source}/thread/planted.ts`,
    allowed: [
      './events.ts',
      '../project.ts',
      '../core/entry.ts',
      '../rules/history.ts',
      '../schedule/fit.ts',
      '../formats/format.ts',
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
    allowed: ['./replay.ts', '../project.ts', '../thread/thread.ts', '../core/entry.ts'],
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
      '../core/entry.ts',
    ],
    forbidden: ['../index.ts', '../simulate/replay.ts', '../testing/index.ts', ...outside],
  },
  testing: {
    file: `${source}/testing/planted.ts`,
    allowed: [
      '../core/entry.ts',
      '../formats/format.ts',
      '../thread/thread.ts',
      '../index.ts',
      'vitest',
    ],
    forbidden: ['@oriel/cli', '../../../cli/src/index.ts'],
  },
  'a test in core': {
    file: `${source}/core/planted.test.ts`,
    allowed: ['./entry.ts', '../testing/index.ts', 'vitest', 'fast-check', 'node:fs'],
    forbidden: ['@oriel/cli', '../../../cli/src/index.ts'],
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
const shapesFile = `${source}/core/shapes.ts`

describe('the layer rule', () => {
  let caught: ReadonlyMap<string, readonly number[]>

  beforeAll(() => {
    const files = Object.values(layers).map(
      ({ file, allowed, forbidden }) => [file, importAll([...allowed, ...forbidden])] as const,
    )
    caught = lint(new Map([...files, [shapesFile, Object.values(shapes).join('\n')]]))
  })

  it.each(Object.entries(layers))('catches what %s must not import, and only that', (_, layer) => {
    const planted = [...layer.allowed, ...layer.forbidden]
    const lines = caught.get(layer.file) ?? []
    expect(lines.map((line) => planted[line - 1])).toEqual(layer.forbidden)
  })

  it('catches a forbidden import in every shape an import can have', () => {
    const lines = caught.get(shapesFile) ?? []
    expect(lines.map((line) => Object.keys(shapes)[line - 1])).toEqual(Object.keys(shapes))
  })
})

function importAll(specifiers: readonly string[]): string {
  return specifiers.map((specifier) => `import '${specifier}'\n`).join('')
}

/** Lints the files under our biome.json; gives the lines where an import was refused. */
function lint(files: ReadonlyMap<string, string>): Map<string, number[]> {
  const root = fileURLToPath(new URL('..', import.meta.url))
  const copy = mkdtempSync(join(tmpdir(), 'oriel-layers-'))
  try {
    for (const name of ['biome.json', '.gitignore', 'scripts/inline-type-import.grit']) {
      mkdirSync(dirname(join(copy, name)), { recursive: true })
      copyFileSync(join(root, name), join(copy, name))
    }
    for (const [name, text] of files) {
      mkdirSync(dirname(join(copy, name)), { recursive: true })
      writeFileSync(join(copy, name), text)
    }
    const biome = createRequire(import.meta.url).resolve('@biomejs/biome/bin/biome')
    const options = ['lint', '--reporter=json', '--max-diagnostics=none', '.']
    const { stdout } = spawnSync(process.execPath, [biome, ...options], {
      cwd: copy,
      encoding: 'utf8',
    })
    return refusedImports(stdout)
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}

interface Report {
  readonly diagnostics: readonly {
    readonly category: string
    readonly location: { readonly path: string; readonly start: { readonly line: number } }
  }[]
}

function refusedImports(report: string): Map<string, number[]> {
  const lines = new Map<string, number[]>()
  for (const { category, location } of (JSON.parse(report) as Report).diagnostics) {
    if (category !== 'lint/style/noRestrictedImports' && category !== 'plugin') continue
    const known = lines.get(location.path) ?? []
    lines.set(
      location.path,
      [...known, location.start.line].sort((a, b) => a - b),
    )
  }
  return lines
}
