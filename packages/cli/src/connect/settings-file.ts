// Sets and takes back single settings in configuration files of other programs, without touching anything else in them: comments, order,
// indentation and line ends stay.

import { isDeepStrictEqual } from 'node:util'
import { type ParseError, parse as parseJsonc } from 'jsonc-parser'
import { OrielError } from 'oriel'
import { parse as parseToml } from 'smol-toml'
import { withJsonItem, withJsonValue } from './json-text.ts'
import { reversePatch } from './reverse-patch.ts'

/** How a file is written. `json` may have comments and trailing commas. */
export type FileFormat = 'json' | 'toml' | 'env'

/** One setting: where it is, and what it is to be, or to hold besides what is there. TOML and env files take a single name and a text. */
export interface Setting {
  readonly path: readonly string[]
  readonly value:
    | string
    | {
        readonly add: string /** Where the setting is a text: what stands between its parts. @default a list */
        readonly separator?: string
      }
}

/** A setting as it was before; without a value it was not there. */
export interface PastSetting {
  readonly path: readonly string[]
  readonly value?: unknown
  /** What was set in its place; absent in older records, which are taken back whatever stands there by now. */
  readonly set?: Setting['value']
  /** How many keys of the path were there. @default all */
  readonly depth?: number
}

/** A text with settings. */
export interface Changed {
  readonly text: string
  /** What the settings were. */
  readonly before: readonly PastSetting[]
  /** The text before the first setting, and after each. */
  readonly texts: readonly string[]
}

/**
 * The text with the settings, and what they were. Contracts:
 * - Everything else in the file means what it meant: the text is parsed before and after, and refused if it does not.
 * - An empty text is a file without settings.
 *
 * Throws OrielError 'invalid-input' where the text cannot be parsed.
 */
export function withSettings(
  text: string,
  settings: readonly Setting[],
  format: FileFormat,
): Changed {
  const tree = read(text, format)
  const before = settings.map(({ path, value: own }): PastSetting => {
    const value = valueAt(tree, path)
    return { path, ...(value === undefined ? {} : { value }), set: own, depth: depthOf(tree, path) }
  })
  const after = settings.map(({ path, value }) => ({
    path,
    value: typeof value === 'string' ? value : added(valueAt(tree, path), value),
  }))
  const expected = after.reduce((one, { path, value }) => withValue(one, path, value), tree)
  const texts = [text]
  for (const setting of after) texts.push(set(texts.at(-1) ?? '', setting, format))
  const changed = texts.at(-1) ?? ''
  assertMeans(changed, expected, format)
  return { text: changed, before, texts }
}

/**
 * The text with each setting as it was before. What somebody set since in its place stays, so do other items of its list; objects that
 * were made for a setting go with it once they are empty. `texts` are those of `withSettings`: where each change is found again, nothing
 * but it is taken back.
 */
export function withoutSettings(
  text: string,
  { before, texts = [] }: Pick<Changed, 'before'> & Partial<Changed>,
  format: FileFormat,
): string {
  let [tree, changed] = [read(text, format), text]
  for (const past of before) {
    const change = taken(tree, past)
    if (change === undefined) continue
    tree = withValue(tree, change.path, change.value)
    changed = set(changed, change, format)
  }
  const reversed = reversePatch(texts, text)
  if (reversed !== undefined && means(reversed, tree, format)) return reversed
  assertMeans(changed, tree, format)
  return changed
}

/** What takes a setting back from what stands there now; nothing if it is no longer ours. */
function taken(tree: Tree, past: PastSetting): Change | undefined {
  const { path, value, set: own, depth = path.length } = past
  const now = valueAt(tree, path)
  if (typeof own === 'string' && now !== own) return undefined
  if (now === undefined && value === undefined) return undefined
  if (typeof own === 'object') {
    const rest = includes(value, own) ? undefined : without(now, own)
    if (rest === undefined) return undefined
    if (value !== undefined || rest.length > 0) return { path, value: rest }
  }
  if (value !== undefined) return { path, value }
  let end = path.length
  while (end > depth + 1 && keysAt(tree, path.slice(0, end - 1)) === 1) end -= 1
  return { path: path.slice(0, end), value: undefined }
}

interface Change {
  readonly path: readonly string[]
  readonly value: unknown
}

type Item = Exclude<Setting['value'], string>

function partsOf(list: unknown, { separator }: Item): readonly unknown[] {
  if (Array.isArray(list)) return list
  return typeof list === 'string' && separator !== undefined ? list.split(separator) : []
}

function includes(list: unknown, item: Item): boolean {
  return partsOf(list, item).includes(item.add)
}

/** A list without an item; nothing where it does not have it. */
function without(list: unknown, item: Item): readonly unknown[] | string | undefined {
  if (!includes(list, item)) return undefined
  const rest = partsOf(list, item).filter((one) => one !== item.add)
  return Array.isArray(list) ? rest : rest.join(item.separator)
}

function added(list: unknown, { add: item, separator }: Item): unknown {
  if (separator !== undefined) {
    const parts = typeof list === 'string' && list !== '' ? list.split(separator) : []
    if (list === undefined || typeof list === 'string') {
      return parts.includes(item) ? list : [...parts, item].join(separator)
    }
    throw new OrielError('invalid-input', 'A text was expected where something else stands.')
  }
  if (list === undefined) return [item]
  if (Array.isArray(list)) return list.includes(item) ? list : [...list, item]
  throw new OrielError('invalid-input', 'A list was expected where something else stands.')
}

type Tree = { readonly [key: string]: unknown }

/** What a file says. */
export function read(text: string, format: FileFormat): Tree {
  if (format === 'env')
    return Object.fromEntries(envLines(text).map(({ name, value }) => [name, value]))
  if (format === 'toml') {
    try {
      return parseToml(withoutMark(text)) as Tree
    } catch (cause) {
      throw cannotRead('TOML', cause)
    }
  }
  if (withoutMark(text).trim() === '') return {}
  const errors: ParseError[] = []
  const tree: unknown = parseJsonc(withoutMark(text), errors, { allowTrailingComma: true })
  const isTree = typeof tree === 'object' && tree !== null && !Array.isArray(tree)
  if (errors.length > 0 || !isTree) throw cannotRead('JSON')
  return tree as Tree
}

function set(text: string, change: Change, format: FileFormat): string {
  if (format === 'json') return setJson(text, change)
  const { path, value } = change
  const [name = ''] = path
  return format === 'toml' ? setToml(text, name, value) : setEnv(text, name, value)
}

const byteOrderMark = '\uFEFF'

function withoutMark(text: string): string {
  return text.startsWith(byteOrderMark) ? text.slice(1) : text
}

function setJson(text: string, { path, value }: Change): string {
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ''
  const body = withoutMark(text)
  const now = valueAt(read(body, 'json'), path)
  const isLonger = Array.isArray(now) && Array.isArray(value) && value.length > now.length
  // Comments between the items of a list stay.
  const isOneMore = isLonger && isDeepStrictEqual(value.slice(0, -1), now)
  return (
    mark + (isOneMore ? withJsonItem(body, path, value.at(-1)) : withJsonValue(body, path, value))
  )
}

/** A line of a setting: where it begins and ends in the text, its line end included. */
interface Line {
  readonly start: number
  readonly end: number
}

/** Before the first table, where settings of the file itself stand. */
function setToml(text: string, name: string, value: unknown): string {
  const found = tomlLine(text, name)
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  if (value === undefined) {
    return found === undefined ? text : text.slice(0, found.start) + text.slice(found.end)
  }
  const line = `${name} = ${JSON.stringify(value)}${eol}`
  if (found !== undefined) {
    const [, head, rest] = tomlText.exec(text.slice(found.start, found.end)) ?? []
    const kept = head === undefined ? line : `${head}${JSON.stringify(value)}${rest}`
    return text.slice(0, found.start) + kept + text.slice(found.end)
  }
  const mark = text.startsWith(byteOrderMark) ? byteOrderMark : ''
  return `${mark}${line}${withoutMark(text)}`
}

/** A line whose value is a text: what stands before and behind it, with its comment. */
const tomlText =
  /^([^=]*=[ \t]*)(?:"(?!"")(?:[^"\\\r\n]|\\.)*"|'(?!'')[^'\r\n]*')([ \t]*(?:#.*)?\r?\n?)$/

/** The line of a setting of the file itself: only the last part of a file can be a table, and a value may span lines. */
function tomlLine(text: string, name: string): Line | undefined {
  const pattern = new RegExp(`^[ \\t\\uFEFF]*(?:${name}|"${name}"|'${name}')[ \\t]*=`, 'gm')
  for (const { index: start } of text.matchAll(pattern)) {
    const without = (end: number): string => text.slice(0, start) + text.slice(end)
    for (let end = lineEnd(text, start); ; end = lineEnd(text, end)) {
      if (isWithout(text, without(end), name)) return { start, end }
      if (end >= text.length) break
    }
  }
  return undefined
}

/** Whether a cut removed the setting and nothing else. */
function isWithout(text: string, cut: string, name: string): boolean {
  try {
    const { [name]: _gone, ...expected } = parseToml(withoutMark(text)) as Tree
    return isDeepStrictEqual(sorted(parseToml(withoutMark(cut))), sorted(expected))
  } catch {
    return false
  }
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf('\n', from)
  return end === -1 ? text.length : end + 1
}

interface EnvLine extends Line {
  readonly name: string
  readonly value: string
  /** What stands before the value: the name, perhaps with `export`. */
  readonly head: string
}

function envLines(text: string): readonly EnvLine[] {
  const pattern = /^([ \t\uFEFF]*(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=)(.*)$/gm
  return [...text.matchAll(pattern)].map(
    ({ index, 1: head = '', 2: name = '', 3: value = '' }) => ({
      start: index,
      end: lineEnd(text, index),
      head,
      name,
      value: value.replace(/\r$/, ''),
    }),
  )
}

/** The last line of a name is the one that counts. */
function setEnv(text: string, name: string, value: unknown): string {
  const found = envLines(text).findLast((line) => line.name === name)
  if (value === undefined) {
    return found === undefined ? text : text.slice(0, found.start) + text.slice(found.end)
  }
  const eol = text.includes('\r\n') ? '\r\n' : '\n'
  const line = `${found?.head ?? `${name}=`}${String(value)}${eol}`
  if (found !== undefined) return text.slice(0, found.start) + line + text.slice(found.end)
  const isOpen = text !== '' && !text.endsWith('\n')
  return `${text}${isOpen ? eol : ''}${line}`
}

function valueAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (one, key) =>
      typeof one === 'object' && one !== null && Object.hasOwn(one, key)
        ? (one as Tree)[key]
        : undefined,
    tree,
  )
}

/** How many keys of a path are there. */
function depthOf(tree: Tree, path: readonly string[]): number {
  const missing = path.findIndex(
    (_key, index) => valueAt(tree, path.slice(0, index + 1)) === undefined,
  )
  return missing === -1 ? path.length : missing
}

function keysAt(tree: Tree, path: readonly string[]): number {
  const found = valueAt(tree, path)
  return typeof found === 'object' && found !== null ? Object.keys(found).length : 0
}

function withValue(tree: Tree, [key = '', ...rest]: readonly string[], value: unknown): Tree {
  const next = rest.length === 0 ? value : withValue(childOf(tree, key), rest, value)
  const kept = Object.entries(tree).filter(([name]) => name !== key)
  return Object.fromEntries(next === undefined ? kept : [...kept, [key, next]])
}

function childOf(tree: Tree, key: string): Tree {
  const child = Object.hasOwn(tree, key) ? tree[key] : undefined
  if (child === undefined) return {}
  if (typeof child === 'object' && child !== null && !Array.isArray(child)) return child as Tree
  throw new OrielError(
    'invalid-input',
    `'${key}' is not an object, so that nothing can be set in it.`,
  )
}

function means(text: string, expected: Tree, format: FileFormat): boolean {
  try {
    return isDeepStrictEqual(sorted(read(text, format)), sorted(expected))
  } catch (error) {
    if (!OrielError.is(error)) throw error
    return false
  }
}

function assertMeans(text: string, expected: Tree, format: FileFormat): void {
  if (means(text, expected, format)) return
  throw new OrielError(
    'invalid-input',
    'The file is written in a way that cannot be changed safely.',
  )
}

/** Without the order of keys. */
function sorted(tree: unknown): unknown {
  if (typeof tree !== 'object' || tree === null || Array.isArray(tree)) return tree
  if (tree instanceof Date) return tree
  return Object.fromEntries(
    Object.entries(tree)
      .map(([key, value]): [string, unknown] => [key, sorted(value)])
      .sort(([a], [b]) => (a < b ? -1 : 1)),
  )
}

function cannotRead(kind: string, cause?: unknown): OrielError {
  return new OrielError('invalid-input', `The file is not valid ${kind}.`, { cause })
}
