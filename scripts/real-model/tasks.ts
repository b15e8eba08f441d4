// Tasks with answers that can be checked, long enough that a conversation is folded on the way. The files are made here: no model has seen them.

export interface Task {
  readonly name: string
  /** What it tries: something seen early is needed late, or a rule must hold to the end. */
  readonly about: string
  /** What the user says, turn by turn. */
  readonly turns: readonly string[]
  /** The files that the tool `read_file` reads. */
  readonly files: ReadonlyMap<string, string>
  /** Judges the answers of all turns. */
  readonly isSolved: (answers: readonly string[]) => boolean
}

const system =
  'You work on files with the tool read_file. Read one file in each call. Answer briefly.'

export { system }

/** The tasks; `seed` makes other files and names. */
export function createTasks(seed = 1): readonly Task[] {
  return [incidents(seed), ledger(seed + 1), house(seed + 2)]
}

const perTurn = 8

/** A line of an early file is asked for at the end. */
function incidents(seed: number): Task {
  const { pick, digits } = randomFrom(seed)
  const rows = Array.from({ length: 24 }, (_, index) => ({
    file: `logs/service-${String(index + 1).padStart(2, '0')}.log`,
    id: `INC-${digits(5)}`,
    owner: pick(names),
  }))
  const files = rows.map(({ file, id, owner }) => {
    const lines = noise(pick, digits, 110)
    lines.splice(40, 0, `2026-03-02 ERROR incident ${id} opened, severity=high owner=${owner}`)
    return [file, lines.join('\n')] as const
  })
  const asked = rows[2] as (typeof rows)[number]
  return {
    name: 'incidents',
    about: 'a line that was read early is asked for at the end',
    turns: [
      ...readingTurns(rows.map(({ file }) => file)),
      `Which file has the incident ${asked.id}, and who owns it?`,
    ],
    files: new Map(files),
    isSolved: (answers) => {
      const last = answers.at(-1) ?? ''
      return last.includes(asked.file.slice('logs/'.length)) && last.includes(asked.owner)
    },
  }
}

/** Values of three files, read far apart, are added at the end. */
function ledger(seed: number): Task {
  const { pick, digits } = randomFrom(seed)
  const rows = Array.from({ length: 24 }, (_, index) => ({
    file: `ledger/account-${index + 1}.txt`,
    balance: 1000 + Number(digits(4)),
  }))
  const files = rows.map(({ file, balance }) => {
    const lines = noise(pick, digits, 90)
    lines.splice(60, 0, `closing balance: ${balance} EUR`)
    return [file, lines.join('\n')] as const
  })
  const chosen = [1, 10, 19].map((index) => rows[index] as (typeof rows)[number])
  const total = chosen.reduce((sum, { balance }) => sum + balance, 0)
  const numbers = chosen.map(({ file }) => file.replace(/\D/g, '')).join(', ')
  return {
    name: 'ledger',
    about: 'values of three files that were read far apart are added',
    turns: [
      ...readingTurns(rows.map(({ file }) => file)),
      `What is the sum of the closing balances of the accounts ${numbers}? Give one number.`,
    ],
    files: new Map(files),
    isSolved: (answers) =>
      (answers.at(-1) ?? '').replaceAll(/[,.\s']/g, '').includes(String(total)),
  }
}

/** A rule of the first turn must hold in the last. */
function house(seed: number): Task {
  const { pick, digits } = randomFrom(seed)
  const sign = `REF-${digits(4)}`
  const rows = Array.from({ length: 20 }, (_, index) => `notes/note-${index + 1}.md`)
  const files = rows.map((file) => [file, noise(pick, digits, 100).join('\n')] as const)
  const [first = '', ...others] = readingTurns(rows)
  return {
    name: 'house rule',
    about: 'an instruction of the first turn holds in every answer',
    turns: [
      `From now on, end every answer with ${sign}. ${first}`,
      ...others,
      'Thanks. In one sentence: what did we do today?',
    ],
    files: new Map(files),
    isSolved: (answers) => answers.every((answer) => answer.trim().endsWith(sign)),
  }
}

function readingTurns(files: readonly string[]): readonly string[] {
  const turns: string[] = []
  for (let from = 0; from < files.length; from += perTurn) {
    turns.push(`Read ${files.slice(from, from + perTurn).join(', ')}. Then say how many you read.`)
  }
  return turns
}

const names = [
  'Amara',
  'Bjorn',
  'Chiyo',
  'Dmitri',
  'Eilidh',
  'Farid',
  'Greta',
  'Hugo',
  'Ines',
  'Jomo',
]
const words = [
  'request',
  'worker',
  'queue',
  'retry',
  'session',
  'payload',
  'index',
  'replica',
  'shard',
  'timeout',
]

function noise(
  pick: (list: readonly string[]) => string,
  digits: (count: number) => string,
  lines: number,
): string[] {
  return Array.from(
    { length: lines },
    () =>
      `2026-03-0${1 + (Number(digits(1)) % 8)} INFO ${pick(words)} ${digits(6)} ${pick(words)} took ${digits(3)} ms`,
  )
}

/** A small generator of numbers: the same seed gives the same files everywhere. */
function randomFrom(seed: number): {
  readonly pick: (list: readonly string[]) => string
  readonly digits: (count: number) => string
} {
  let state = (seed * 2_654_435_761) >>> 0
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  return {
    pick: (list) => list[next(list.length)] as string,
    digits: (count) => Array.from({ length: count }, () => next(10)).join(''),
  }
}
