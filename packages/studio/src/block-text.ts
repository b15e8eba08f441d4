// Texts of blocks as a person reads them.

const escape = String.fromCharCode(27)
const bell = String.fromCharCode(7)
/** Terminal codes: colours, cursor movements, titles. */
const terminalCodes = new RegExp(
  `${escape}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${bell}${escape}]*(?:${bell}|${escape}\\\\)|[@-Z\\\\-_])`,
  'g',
)

/** Without terminal codes: they say nothing here. */
export function readable(text: string): string {
  return text.includes(escape) ? text.replace(terminalCodes, '') : text
}
