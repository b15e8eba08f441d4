// Texts of blocks as a person reads them.

const escapeCode = String.fromCharCode(27)
const bell = String.fromCharCode(7)
/** Terminal codes: colours, cursor movements, titles; the last one may be cut. */
const terminalCodes = new RegExp(
  `${escapeCode}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${bell}${escapeCode}]*(?:${bell}|${escapeCode}\\\\)|[@-Z\\\\-_]|\\[?[0-9;?]*$)`,
  'g',
)

/** The arguments of a call, which is written as `tool({"path":"a.ts"})`: short ones as they are, others line by line. */
export function argumentsOf(call: string): string {
  const written = /^[^({]*\((.*)\)$/s.exec(call)?.[1]
  if (written === undefined) return call
  const values = objectIn(written)
  if (values === undefined) return written
  const entries = Object.entries(values)
  if (entries.length === 0) return 'no arguments'
  return entries
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('\n')
}

function objectIn(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

/** Without terminal codes: they say nothing here. */
export function readable(text: string): string {
  return text.includes(escapeCode) ? text.replace(terminalCodes, '') : text
}
