// Vitest reporter: lists skipped tests with their reason and tests that passed only at the second
// try, prints the seed of the property tests, and ends with one plain line, `N passed, M failed`.

import type { Reporter, TestModule } from 'vitest/node'

export function plainReporter(seed: string): Reporter {
  /** Tests were selected by name (-t), so skipped ones are not reported. */
  let isFiltered = false
  return {
    onInit({ config }) {
      isFiltered = config.testNamePattern !== undefined
    },
    onTestRunEnd(modules, unhandledErrors, reason) {
      const counts = modules.map(countTests)
      const passed = counts.reduce((sum, count) => sum + count.passed, 0)
      const failed = counts.reduce((sum, count) => sum + count.failed, 0)
      // A run can fail without a failing test: an uncaught error, or no test at all.
      const isGood = reason === 'passed' && unhandledErrors.length === 0
      for (const line of isFiltered ? [] : modules.flatMap(leftOut))
        process.stdout.write(`${line}\n`)
      for (const line of modules.flatMap(retried)) process.stdout.write(`${line}\n`)
      process.stdout.write(`Property tests: ORIEL_SEED=${seed} repeats this run.\n`)
      process.stdout.write(`${passed} passed, ${failed === 0 && !isGood ? 1 : failed} failed\n`)
    },
  }
}

/** A file that fails outside its tests (load error, throwing hook) counts as one failed test. */
function countTests(module: TestModule): { passed: number; failed: number } {
  const passed = [...module.children.allTests('passed')].length
  const failed = [...module.children.allTests('failed')].length
  return { passed, failed: failed === 0 && !module.ok() ? 1 : failed }
}

/** One line per skipped test, with its reason. */
function leftOut(module: TestModule): readonly string[] {
  return [...module.children.allTests('skipped')].map((test) => {
    const result = test.result()
    const reason = (result.state === 'skipped' ? result.note : undefined) ?? 'no reason given'
    return `Left out: ${module.relativeModuleId} > ${test.fullName}: ${reason}`
  })
}

/** One line per test that failed and then passed, with the error of the first try. */
function retried(module: TestModule): readonly string[] {
  return [...module.children.allTests('passed')].flatMap((test) => {
    if (test.diagnostic()?.flaky !== true) return []
    const message = test.result().errors?.[0]?.message ?? 'no error kept'
    const [firstLine = ''] = message.split('\n')
    return [`Passed at the second try: ${module.relativeModuleId} > ${test.fullName}: ${firstLine}`]
  })
}
