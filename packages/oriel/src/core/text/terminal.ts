// Terminal output as a person sees it in the end: without codes for colours and cursors, and without what was overwritten.

const esc = String.fromCodePoint(0x1b)
const bell = String.fromCodePoint(0x07)
/** Sequences of ECMA-48: those with a bracket, those that set a title or a link, and single ones. All are bounded. */
const codes = new RegExp(
  [
    `${esc}\\[[0-?]{0,32}[ -/]{0,4}[@-~]`,
    `${esc}\\][^${bell}${esc}\\n]{0,512}(?:${bell}|${esc}\\\\)`,
    `${esc}[@-Z\\\\^_=>78]`,
  ].join('|'),
  'g',
)

/** The text without terminal codes; the same string if it has none. */
export function withoutTerminalCodes(text: string): string {
  const plain = text.includes(esc) ? text.replaceAll(codes, '') : text
  return plain.includes('\r') ? plain.split('\n').map(overwritten).join('\n') : plain
}

/** What stays of a line that was written over itself, as progress bars are. */
function overwritten(line: string): string {
  const end = line.endsWith('\r') ? line.length - 1 : line.length
  const start = line.lastIndexOf('\r', end - 1)
  return start === -1 || end === 0 ? line : line.slice(start + 1)
}
