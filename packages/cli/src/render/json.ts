// How every command prints JSON for machines: one value and a line break, without characters that could control a terminal.

import { escapeControls } from '../export/lines.ts'

/** Indented, or on one line for readers of lines. */
export function renderJson(value: unknown, shape: 'indented' | 'line' = 'indented'): string {
  return `${escapeControls(JSON.stringify(value, null, shape === 'line' ? 0 : 2))}\n`
}
