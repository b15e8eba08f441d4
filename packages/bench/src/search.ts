// Evidence within one lookup: the share of the turns that answer a question which the view shows word for word, or which are among the first
// results of a search for that very question, on LongMemEval-S and BEAM 100K. The view is that of `recommended` within 25,000 tokens, after
// the whole conversation. Beside it the share of the turns of which the view lists at least the beginning, with the id that shows them whole.
// The data is not in this repository:
//
//   node src/search.ts <clone of adaptive_hybrid_compaction> <clone of BEAM>
//
// Each clone may be a git directory without a work tree. Beside it: plain BM25 of whole messages, SQLite's FTS5 with its own tokenizer, and
// a search for the whole question or its words as substrings.

import { execFileSync } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { memoryStore, openThread } from '../../oriel/src/index.ts'

interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: string
}

interface Question {
  readonly kind: string
  readonly text: string
  /** Positions of the turns that answer it. */
  readonly evidence: readonly number[]
}

/** What the view of a task may take. */
const budget = 25_000

interface Task {
  readonly turns: readonly Turn[]
  readonly questions: readonly Question[]
}

/** Searches for one task: positions of turns, the best first. */
type Search = (query: string) => Promise<readonly number[]> | readonly number[]

async function measure(name: string, tasks: Iterable<Task>): Promise<void> {
  const rows = new Map<string, Tally>()
  const kinds = new Map<string, Tally>()
  let number = -1
  for (const task of tasks) {
    number += 1
    const { search: own, visible, begun } = await ours(task)
    const searches: Record<string, Search> = {
      'the view alone': () => [],
      'thread.search': own,
      'plain BM25, whole messages': plainBm25(task),
      'FTS5, unicode61': fts5(task),
      substring: substring(task),
    }
    for (const question of task.questions) {
      for (const [method, search] of Object.entries(searches)) {
        const found = await search(question.text)
        tallyOf(rows, method).add(question, found, visible, begun)
        if (method !== 'thread.search') continue
        tallyOf(kinds, question.kind).add(question, found, visible, begun)
        tallyOf(kinds, number % 2 === 0 ? 'misses read' : 'misses not read').add(
          question,
          found,
          visible,
          begun,
        )
        for (const role of ['user', 'assistant'] as const) {
          const evidence = question.evidence.filter((turn) => task.turns[turn]?.role === role)
          if (evidence.length > 0)
            tallyOf(kinds, `what the ${role} said`).add(
              { ...question, evidence },
              found,
              visible,
              begun,
            )
        }
      }
    }
  }
  for (const [title, tallies] of [
    [name, rows],
    [`${name}, by kind`, kinds],
  ] as const) {
    console.log(
      `\n${title}\n| | evidence turns | search at 10 | visible or at 10 | begun or at 10 | questions with all of it |\n|---|---|---|---|---|---|`,
    )
    for (const [method, tally] of tallies) console.log(`| ${method} | ${tally.line()} |`)
  }
}

class Tally {
  #evidence = 0
  #ten = 0
  #either = 0
  #begun = 0
  #questions = 0
  #whole = 0

  add(
    { evidence }: Question,
    found: readonly number[],
    visible: ReadonlySet<number>,
    begun: ReadonlySet<number>,
  ): void {
    const ten = new Set(found.slice(0, 10))
    const either = evidence.filter((turn) => ten.has(turn) || visible.has(turn)).length
    this.#evidence += evidence.length
    this.#ten += evidence.filter((turn) => ten.has(turn)).length
    this.#either += either
    this.#begun += evidence.filter((turn) => ten.has(turn) || begun.has(turn)).length
    this.#questions += 1
    if (either === evidence.length) this.#whole += 1
  }

  line(): string {
    const share = (part: number, all: number): string => `${((100 * part) / all).toFixed(1)} %`
    return [
      this.#evidence,
      share(this.#ten, this.#evidence),
      share(this.#either, this.#evidence),
      share(this.#begun, this.#evidence),
      share(this.#whole, this.#questions),
    ].join(' | ')
  }
}

function tallyOf(tallies: Map<string, Tally>, name: string): Tally {
  const tally = tallies.get(name) ?? new Tally()
  tallies.set(name, tally)
  return tally
}

/** Characters of a turn by which it is recognised. */
const beginning = 60

async function ours({ turns }: Task): Promise<{
  readonly search: Search
  readonly visible: ReadonlySet<number>
  readonly begun: ReadonlySet<number>
}> {
  const thread = await openThread({ id: 'task', store: memoryStore(), policy: 'recommended' })
  const positions = new Map<string, number>()
  for (let from = 0; from < turns.length; from += 100) {
    const entries = await thread.append(turns.slice(from, from + 100))
    for (const [index, { id }] of entries.entries()) positions.set(id, from + index)
  }
  const view = await thread.view<{ readonly content: unknown }>({ budget })
  if (view.tokens.after > budget) throw new Error(`a view of ${view.tokens.after} tokens`)
  const text = view.messages.map(({ content }) => String(content)).join('\n')
  const shown = (length?: number): ReadonlySet<number> =>
    new Set(
      turns.flatMap(({ content }, turn) =>
        text.includes(content.trim().slice(0, length)) ? [turn] : [],
      ),
    )
  return {
    visible: shown(),
    begun: shown(beginning),
    search: async (query) =>
      (await thread.search(query, { limit: 10 })).map(({ id }) => positions.get(id) ?? -1),
  }
}

function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []
}

function plainBm25({ turns }: Task): Search {
  const documents = turns.map(({ content }) => wordsOf(content))
  const usual = documents.reduce((sum, words) => sum + words.length, 0) / documents.length
  const counts = new Map<string, number>()
  for (const words of documents) {
    for (const word of new Set(words)) counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  return (query) => {
    const terms = new Set(wordsOf(query))
    const scores = documents.map((words, index) => {
      const own = new Map<string, number>()
      for (const word of words) if (terms.has(word)) own.set(word, (own.get(word) ?? 0) + 1)
      let score = 0
      for (const [word, count] of own) {
        const all = counts.get(word) ?? 0
        const weight = Math.log(1 + (documents.length - all + 0.5) / (all + 0.5))
        score += (weight * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / usual))
      }
      return { index, score }
    })
    return best(scores)
  }
}

function fts5({ turns }: Task): Search {
  const database = new DatabaseSync(':memory:')
  database.exec('create virtual table texts using fts5(content)')
  const add = database.prepare('insert into texts (rowid, content) values (?, ?)')
  for (const [index, { content }] of turns.entries()) add.run(index + 1, content)
  const find = database.prepare(
    'select rowid from texts where texts match ? order by rank limit 10',
  )
  return (query) => {
    const terms = [...new Set(wordsOf(query))].map((word) => `"${word}"`).join(' OR ')
    return find.all(terms).map(({ rowid }) => Number(rowid) - 1)
  }
}

/** What a search for a literal text finds: the question itself is nowhere, so its words count, the newest turn first. */
function substring({ turns }: Task): Search {
  const texts = turns.map(({ content }) => content.toLowerCase())
  return (query) => {
    const terms = [...new Set(wordsOf(query))].filter((word) => word.length > 3)
    return best(
      texts.map((text, index) => ({
        index,
        score: terms.filter((term) => text.includes(term)).length,
      })),
    )
  }
}

function best(scores: { index: number; score: number }[]): readonly number[] {
  const found = scores.filter(({ score }) => score > 0)
  return found
    .sort((a, b) => b.score - a.score || b.index - a.index)
    .slice(0, 10)
    .map(({ index }) => index)
}

function* longMemEvalTasks(repository: string): Generator<Task> {
  const all = filesOf(repository, /benchmarks\/longmemeval\/tasks\/lme_.*\.json$/)
  for (const file of all.filter((_, index) => index % 2 === 0)) {
    const task = JSON.parse(read(repository, file)) as LongMemEvalTask
    const turns = task.haystack_sessions.flat()
    const evidence = turns.flatMap(({ has_answer }, index) => (has_answer === true ? [index] : []))
    if (evidence.length === 0) continue
    const question = { kind: task.question_type, text: task.question, evidence }
    yield { turns: turns.map(plain), questions: [question] }
  }
}

interface LongMemEvalTask {
  readonly question: string
  readonly question_type: string
  readonly haystack_sessions: readonly (readonly (Turn & { readonly has_answer?: boolean })[])[]
}

function* beamTasks(repository: string): Generator<Task> {
  for (const file of filesOf(repository, /^chats\/100K\/\d+\/chat\.json$/)) {
    const chat = JSON.parse(read(repository, file)) as readonly BeamBatch[]
    const turns = chat.flatMap((batch) => batch.turns.flat())
    const places = new Map(turns.map(({ id }, index) => [id, index]))
    const questionsFile = file.replace('chat.json', 'probing_questions/probing_questions.json')
    const kinds = JSON.parse(read(repository, questionsFile)) as Record<string, BeamQuestion[]>
    const questions = Object.entries(kinds).flatMap(([kind, list]) =>
      list.flatMap(({ question, source_chat_ids }): Question[] => {
        const ids = idsIn(source_chat_ids)
        const evidence = ids.flatMap((id) => places.get(id) ?? [])
        return evidence.length === 0 ? [] : [{ kind, text: question, evidence }]
      }),
    )
    yield { turns: turns.map(plain), questions }
  }
}

interface BeamBatch {
  readonly turns: readonly (readonly (Turn & { readonly id: number })[])[]
}

interface BeamQuestion {
  readonly question: string
  readonly source_chat_ids?: unknown
}

/** The ids stand in lists of several shapes. */
function idsIn(value: unknown): readonly number[] {
  if (typeof value === 'number') return [value]
  if (typeof value !== 'object' || value === null) return []
  return [...new Set(Object.values(value).flatMap(idsIn))]
}

function plain({ role, content }: Turn): Turn {
  return { role, content }
}

function filesOf(repository: string, pattern: RegExp): readonly string[] {
  const names = git(repository, 'ls-tree', '-r', '--name-only', '-z', 'HEAD').split('\0')
  return names.filter((name) => pattern.test(name)).sort()
}

function read(repository: string, path: string): string {
  return git(repository, 'show', `HEAD:${path}`)
}

function git(repository: string, ...args: string[]): string {
  const options = { encoding: 'utf8', maxBuffer: 1 << 30 } as const
  return execFileSync('git', ['-C', repository, ...args], options)
}

const [longMemEval, beam] = process.argv.slice(2)
if (longMemEval !== undefined) await measure('LongMemEval-S', longMemEvalTasks(longMemEval))
if (beam !== undefined) await measure('BEAM 100K', beamTasks(beam))
