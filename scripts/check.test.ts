import { describe, expect, it } from 'vitest'
import { countTests, type TestReport } from './check.ts'

const good: TestReport = {
  numPassedTests: 3,
  numFailedTests: 0,
  numPendingTests: 1,
  numTodoTests: 1,
  testResults: [
    { status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'passed' }] },
    { status: 'passed', assertionResults: [{ status: 'passed' }, { status: 'skipped' }] },
  ],
}

describe('countTests', () => {
  it('gives the numbers of a good run', () => {
    expect(countTests(good, false)).toEqual({ passed: 3, failed: 0, skipped: 2 })
  })

  it('does not count a file with failed tests a second time', () => {
    const file = { status: 'failed', assertionResults: [{ status: 'failed' }] }
    const report = { ...good, numFailedTests: 1, testResults: [...good.testResults, file] }
    expect(countTests(report, true)).toEqual({ passed: 3, failed: 1, skipped: 2 })
  })

  it('counts a file that does not load as one failed test', () => {
    const file = { status: 'failed', assertionResults: [] }
    const report = { ...good, testResults: [...good.testResults, file] }
    expect(countTests(report, true)).toEqual({ passed: 3, failed: 1, skipped: 2 })
  })

  it('counts a run that failed for a reason outside the report', () => {
    expect(countTests(good, true)).toEqual({ passed: 3, failed: 1, skipped: 2 })
  })

  it('counts a run that left no report', () => {
    expect(countTests(undefined, true)).toEqual({ passed: 0, failed: 1, skipped: 0 })
  })
})
