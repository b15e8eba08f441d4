// The small world that the demo's tools look into: a freight company's services. Everything follows from a seed, nothing from a clock.

/** Numbers that follow from a text: the same text, the same numbers. */
export interface Dice {
  /** A whole number from 0 to `below` - 1. */
  roll(below: number): number
  pick<T>(list: readonly [T, ...T[]]): T
  hex(length: number): string
}

export const services = ['dispatch', 'tracking', 'billing', 'customs', 'gateway'] as const

const routes = ['/quotes', '/shipments', '/shipments/events', '/invoices', '/manifests'] as const
const causes = [
  'connection reset by carrier endpoint',
  'manifest checksum mismatch',
  'lock wait timeout on table shipments',
  'tariff code not found',
  'clock skew above tolerance',
] as const
const ports = ['Rotterdam', 'Santos', 'Busan', 'Valparaíso', 'Gdańsk', '横浜', 'Mombasa'] as const
const states = ['booked', 'loaded', 'at sea', 'in customs', 'delivered', 'lost'] as const
const words = [
  ...['carrier', 'manifest', 'tariff', 'retry', 'queue', 'ledger', 'berth', 'container', 'window'],
  ...['schedule', 'invoice', 'webhook', 'timeout', 'partition', 'replica', 'index', 'rollback'],
] as unknown as readonly [string, ...string[]]

export function dice(seed: string): Dice {
  let state = 2_166_136_261
  for (const character of seed)
    state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 16_777_619)
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
  const roll = (below: number): number => next() % below
  return {
    roll,
    pick: (list) => list[roll(list.length)] ?? list[0],
    hex: (length) => Array.from({ length }, () => roll(16).toString(16)).join(''),
  }
}

/** Lines of a service's log, with a few failures among them. */
export function logOf(service: string, count: number): string {
  const { roll, pick, hex } = dice(`log ${service}`)
  const lines: string[] = []
  for (let index = 0, second = 0; index < count; index++, second += roll(40)) {
    const clock = [second / 3600, (second / 60) % 60, second % 60].map((part) => pad(part | 0))
    const head = `2026-03-01T${clock.join(':')}.${pad(roll(1000), 3)}Z ${service}-${roll(4)}`
    if (roll(17) === 0) {
      lines.push(
        `${head} ERROR trace=tr-${hex(8)} ${pick(causes)} shipment=SH-${10_000 + roll(9000)}`,
      )
      lines.push(`    at ${service}/src/${pick(words)}.ts:${1 + roll(400)}:${1 + roll(80)}`)
    } else {
      lines.push(
        `${head} INFO ${pick(['GET', 'POST', 'PUT'])} ${pick(routes)} ${pick([200, 200, 201, 204, 404])} ${1 + roll(900)}ms req=${hex(12)}`,
      )
    }
  }
  return lines.join('\n')
}

/** A listing of a folder and what is below it, as `ls -lR` prints it. */
export function filesOf(path: string): string {
  const { roll, pick, hex } = dice(`files ${path}`)
  const folders = ['', '/src', '/src/routes', '/test', '/migrations']
  return folders
    .map((folder) => {
      const files = Array.from({ length: 8 + roll(14) }, () => {
        const name = `${pick(words)}-${pick(words)}${pick(['.ts', '.ts', '.sql', '.json', '.md'])}`
        return `-rw-r--r-- 1 app app ${String(200 + roll(90_000)).padStart(6)} Mar ${String(1 + roll(28)).padStart(2)} ${hex(7)} ${name}`
      })
      return `${path}${folder}:\ntotal ${files.length}\n${files.join('\n')}`
    })
    .join('\n\n')
}

/** Ranked search results. */
export function searchFor(query: string): string {
  const { roll, pick, hex } = dice(`search ${query}`)
  const results = Array.from({ length: 14 }, (_, index) => {
    const sentence = Array.from({ length: 34 }, () => pick(words)).join(' ')
    return [
      `${index + 1}. ${title(pick(words))} and ${pick(words)} (DOC-${1000 + roll(9000)})`,
      `   wiki/${pick(services)}/${pick(words)}-${hex(4)}.md  score 0.${99 - index * 3}`,
      `   ... ${query}: ${sentence} ...`,
    ].join('\n')
  })
  return `${results.length} results for "${query}"\n\n${results.join('\n\n')}`
}

/** Rows of a table, as JSON. */
export function rowsOf(table: string, count: number): string {
  const { roll, pick, hex } = dice(`table ${table}`)
  const rows = Array.from({ length: count }, (_, index) => ({
    id: `SH-${10_000 + roll(9000)}`,
    row: index + 1,
    from: pick(ports),
    to: pick(ports),
    state: pick(states),
    weightKg: 100 + roll(24_000),
    priceCents: 10_000 + roll(5_000_000),
    customer: { id: `C-${hex(6)}`, tier: pick(['basic', 'plus', 'prime']) },
    isDelayed: roll(5) === 0,
  }))
  return JSON.stringify(rows, undefined, 1)
}

/** A source file. */
export function sourceOf(path: string): string {
  const { roll, pick, hex } = dice(`source ${path}`)
  const blocks = Array.from({ length: 9 }, () => {
    const name = `${pick(words)}${title(pick(words))}`
    return [
      `/** ${title(pick(words))} for the ${pick(words)}; see DOC-${1000 + roll(9000)}. */`,
      `export async function ${name}(${pick(words)}: string): Promise<number> {`,
      `  const limit = ${roll(5000)} // build ${hex(7)}`,
      `  const rows = await db.query('select * from ${pick(words)}s where ${pick(words)} = $1', [limit])`,
      `  if (rows.length === 0) throw new Error('${pick(causes)}')`,
      `  return rows.reduce((sum, row) => sum + row.${pick(words)}, 0)`,
      '}',
    ].join('\n')
  })
  return `// ${path}\n\n${blocks.join('\n\n')}\n`
}

function pad(value: number, length = 2): string {
  return String(value).padStart(length, '0')
}

function title(word: string): string {
  return `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`
}
