// What the upstream knows by itself of the turns of generateContent: in the provider's words, apart from the library's rules.

import type { Breach } from './laws.ts'

type Fields = Readonly<Record<string, unknown>>

interface Turn {
  readonly role: unknown
  readonly parts: readonly Fields[]
}

const unequal =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.'
const early =
  'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
const late =
  'Please ensure that function response turn comes immediately after a function call turn.'
const last = 'Please ensure that multiturn requests end with a user role or a function response.'

export function geminiBreaches(body: Fields): readonly Breach[] {
  const turns = turnsOf(body)
  const breaches: Breach[] = []
  turns.forEach(({ role, parts }, index) => {
    const calls = parts.filter((part) => 'functionCall' in part).length
    const next = turns[index + 1]?.parts.filter((part) => 'functionResponse' in part).length ?? 0
    if (role === 'model' && index === 0) breaches.push({ rule: 'GC2', message: early })
    if (calls > 0 && calls !== next) breaches.push({ rule: 'GC6', message: unequal })
    if (calls === 0 && next > 0) breaches.push({ rule: 'GC7', message: late })
    if (parts.length === 0) {
      breaches.push({ rule: 'GC4', message: 'must include at least one parts field' })
    }
  })
  if (turns.at(-1)?.role === 'model') breaches.push({ rule: 'GC5', message: last })
  if ((turns[0]?.parts ?? []).some((part) => 'functionResponse' in part)) {
    breaches.push({ rule: 'GC7', message: late })
  }
  return breaches
}

/** Contents of the model in a row are one turn. */
function turnsOf({ contents }: Fields): readonly Turn[] {
  const turns: Turn[] = []
  for (const content of Array.isArray(contents) ? (contents as readonly Fields[]) : []) {
    const { role = 'user', parts } = content
    const list = Array.isArray(parts) ? (parts as readonly Fields[]) : []
    const before = turns.at(-1)
    if (role !== 'model' || before?.role !== 'model') turns.push({ role, parts: list })
    else turns[turns.length - 1] = { role, parts: [...before.parts, ...list] }
  }
  return turns
}
