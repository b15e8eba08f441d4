// Changes one place in a JSON text that people write: comments, trailing commas and the layout of everything else stay.

import { applyEdits, findNodeAtLocation, modify, type Node, parseTree } from 'jsonc-parser'

type Path = readonly (string | number)[]

/** The text with a value at a path; without one, the text without what is there. The text is valid, or empty. */
export function withJsonValue(text: string, path: Path, value: unknown): string {
  const source = text.trim() === '' ? '{}\n' : text
  const place = value === undefined ? undefined : newPlace(source, path, value)
  if (place !== undefined) return inserted(source, place)
  const { step, eol } = layoutOf(source)
  const formattingOptions = { insertSpaces: step !== '\t', tabSize: step.length, eol }
  return applyEdits(source, modify(source, [...path], value, { formattingOptions }))
}

/** The text with one more item at the end of the list at a path. */
export function withJsonItem(text: string, path: Path, item: unknown): string {
  const list = nodeAt(text, path)
  return list === undefined
    ? withJsonValue(text, path, [item])
    : inserted(text, { parent: list, value: item })
}

function nodeAt(source: string, path: Path): Node | undefined {
  const root = parseTree(source, [], { allowTrailingComma: true })
  return root === undefined ? undefined : findNodeAtLocation(root, [...path])
}

/** What is inserted behind the last child of an object or a list. */
interface Insertion {
  readonly parent: Node
  /** Absent for an item of a list. */
  readonly key?: string
  readonly value: unknown
}

/** Where a value that is not there yet belongs; nothing where one is replaced, or the file is an empty object. */
function newPlace(source: string, path: Path, value: unknown): Insertion | undefined {
  let depth = path.length
  while (depth > 0 && nodeAt(source, path.slice(0, depth)) === undefined) depth -= 1
  const parent = nodeAt(source, path.slice(0, depth))
  const isEmptyFile = depth === 0 && parent?.children?.length === 0
  if (depth === path.length || parent?.type !== 'object' || isEmptyFile) return undefined
  const whole = path
    .slice(depth + 1)
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value)
  return { parent, key: String(path[depth]), value: whole }
}

/** Behind the last child, on a line of its own where the children have theirs. */
function inserted(source: string, { parent, key, value }: Insertion): string {
  const last = parent.children?.at(-1)
  const [open, close] = [parent.offset + 1, parent.offset + parent.length - 1]
  const from = last === undefined ? open : last.offset + last.length
  const { comma, lineEnd } = behind(source, from, close)
  const head = key === undefined ? '' : `${JSON.stringify(key)}: `
  const [before, after] =
    last === undefined ? ['', ''] : comma === undefined ? [',', ''] : ['', ',']
  const at = comma === undefined ? from : comma + 1
  const { eol, step } = layoutOf(source)
  const ownLine = /\n([ \t]*)$/.exec(source.slice(open, last?.offset ?? close))?.[1]
  if (ownLine === undefined) {
    const isSpaced = last !== undefined && /[:,]\s/.test(source.slice(open, at))
    const content = `${before}${isSpaced ? ' ' : ''}${head}${JSON.stringify(value)}${after}`
    return source.slice(0, at) + content + source.slice(at)
  }
  const indent = last === undefined ? ownLine + step : ownLine
  const written = JSON.stringify(value, null, step).replaceAll('\n', `${eol}${indent}`)
  const line = `${eol}${indent}${head}${written}${after}`
  const end = Math.max(at, lineEnd)
  return source.slice(0, at) + before + source.slice(at, end) + line + source.slice(end)
}

/** What may stand behind the last child of an object or a list. */
const trailing = /\/\/[^\r\n]*|\/\*[\s\S]*?\*\/|,|\r?\n/g

/** The position of a trailing comma, and where the last child's line ends: behind the comment on it. */
function behind(
  source: string,
  from: number,
  to: number,
): { readonly comma?: number; readonly lineEnd: number } {
  let comma: number | undefined
  let lineEnd: number | undefined
  let end = from
  for (const { 0: token, index } of source.slice(from, to).matchAll(trailing)) {
    if (token === ',') comma = from + index
    if (token.endsWith('\n')) lineEnd ??= end
    else end = from + index + token.length
  }
  return { ...(comma === undefined ? {} : { comma }), lineEnd: lineEnd ?? end }
}

function layoutOf(source: string): { readonly step: string; readonly eol: string } {
  const indent = /\n([ \t]+)\S/.exec(source)?.[1] ?? '  '
  return {
    step: indent.startsWith('\t') ? '\t' : indent,
    eol: source.includes('\r\n') ? '\r\n' : '\n',
  }
}
