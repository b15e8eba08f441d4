// JSON report of `oriel doctor`. docs/guides/keep.md documents the shape; `version` is incremented
// when a field changes its meaning.

import { renderJson } from '../render/json.ts'
import type { DoctorReport } from './report.ts'

const version = 1

/** One JSON object and a line break. */
export function toJson(report: DoctorReport): string {
  const { file, bytes, sqlite, settings, counts, findings, more, repairs } = report
  const value = {
    version,
    isSound: findings.length === 0,
    file,
    bytes,
    sqlite,
    settings,
    counts,
    problems: findings,
    moreProblems: more,
    repairs,
  }
  return renderJson(value)
}
