import { randomInt } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'
import { plainReporter } from './scripts/plain-reporter.ts'

const source = (path: string): string => fileURLToPath(new URL(path, import.meta.url))

/** A new seed for the property tests of each run; the reporter prints it, so that a failure can be repeated. */
const seed = process.env.ORIEL_SEED ?? String(randomInt(2 ** 31))

const ignored = ['packages/bench/**', '**/node_modules/**', '**/dist/**']

/** Tests beside the source that need a server, a disk or another process, or that take long: a part of `system`. */
const slow = [
  'packages/oriel/src/stores/{postgres,sqlite}/*.test.ts',
  'packages/oriel/src/stores/memory/index.test.ts',
  'packages/oriel/src/integrations/**/*.test.ts',
  'packages/oriel/src/simulate/*.test.ts',
  'packages/oriel/src/providers/sdk-agreement.test.ts',
  'packages/oriel/src/core/tokens/margin.test.ts',
  'packages/oriel/src/testing/{format-suite,mutations}.test.ts',
  'packages/oriel/src/thread/{append-formats,request}.test.ts',
  'packages/oriel/src/thread/compaction/{directives,fold-above}.test.ts',
  'packages/oriel/src/thread/view/{dry-run,preview}.test.ts',
  'packages/gateway/src/call/client-body.test.ts',
  'packages/gateway/src/limits/heap.test.ts',
  'packages/cli/src/**/{command,main,history}.test.ts',
  'packages/cli/src/doctor/repair.test.ts',
  'scripts/{release,start,walk}.test.ts',
]
/** Quick and without a world around them: `npm run check:quick` runs these. */
const unit = [
  'packages/*/src/**/*.test.ts',
  'packages/plugins/*/src/**/*.test.ts',
  'scripts/**/*.test.ts',
]
const system = [
  'packages/*/test/**/*.test.ts',
  'packages/plugins/*/src/**/*.test.ts',
  'examples/**/*.test.ts',
  ...slow,
]

/** Where `npm run check` wants the results as JSON. */
const report = process.env.ORIEL_TEST_REPORT

export default defineConfig({
  resolve: {
    alias: [
      {
        find: /^oriel\/(compat|inspect|internal|providers|simulate|stores|testing)$/,
        replacement: source('./packages/oriel/src/$1/index.ts'),
      },
      {
        find: /^oriel\/(agents|ai-sdk|anthropic|langchain|mastra|openai|openai-agents)$/,
        replacement: source('./packages/oriel/src/integrations/$1.ts'),
      },
      {
        find: /^oriel\/(langgraph)$/,
        replacement: source('./packages/oriel/src/integrations/$1/index.ts'),
      },
      {
        find: /^@oriel\/pi\/messages$/,
        replacement: source('./packages/plugins/pi/src/messages.ts'),
      },
      { find: /^oriel\/project$/, replacement: source('./packages/oriel/src/browser.ts') },
      { find: /^oriel$/, replacement: source('./packages/oriel/src/index.ts') },
      { find: /^@oriel\/gateway$/, replacement: source('./packages/gateway/src/index.ts') },
      { find: /^@oriel\/cli$/, replacement: source('./packages/cli/src/index.ts') },
    ],
  },
  test: {
    env: { ORIEL_SEED: seed },
    // Worker threads inherit it, so that they run the sources as the tests do.
    execArgv: ['--import', source('./scripts/sources.ts')],
    reporters: [
      'default',
      plainReporter(seed),
      ...(report === undefined
        ? []
        : [['json', { outputFile: report }] satisfies ['json', object]]),
    ],
    setupFiles: ['./scripts/property-seed.ts'],
    // One worker for each core: the default leaves one core to the main process, which has little to do.
    maxWorkers: '100%',
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'unit', include: unit, exclude: [...ignored, ...slow] } },
      // These have a server, a disk or a browser around them, which a loaded machine can stall. A test that needed its
      // second try is listed as `Passed at the second try`: a defect to be fixed, of the test or of the code.
      { extends: true, test: { name: 'system', include: system, exclude: ignored, retry: 1 } },
    ],
  },
})
