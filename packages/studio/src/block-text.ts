// Texts of blocks as a person reads them.

const escapeCode = String.fromCharCode(27)
const bell = String.fromCharCode(7)
/** Terminal codes: colours, cursor movements, titles. */
const terminalCodes = new RegExp(
  `${escapeCode}(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^${bell}${escapeCode}]*(?:${bell}|${escapeCode}\\\\)|[@-Z\\\\-_])`,
  'g',
)

/** Without terminal codes: they say nothing here. */
export function readable(text: string): string {
  return text.includes(escapeCode) ? text.replace(terminalCodes, '') : text
}
