// What clients of a gateway may rely on, whatever became of its process, checked in the logs.

import type { Store } from 'oriel'
import { type Conversation, halvesIn, marksIn } from './conversation.ts'

interface Log {
  readonly thread: string
  /** Its first entry, which a fork has too. */
  readonly header: string
  /** The forks that it knows of. */
  readonly forks: readonly string[]
  /** Marks of the messages that the model sees, in order. */
  readonly marks: readonly string[]
  readonly problems: readonly string[]
}

/** What does not hold of a store's logs and of what clients saw; none if all is well. */
export async function problemsIn(
  store: Store,
  conversations: readonly Conversation[],
): Promise<readonly string[]> {
  const found: string[] = []
  for await (const problem of store.verify()) found.push(`verify: ${JSON.stringify(problem)}`)
  const logs = await logsOf(store)
  for (const log of logs) found.push(...log.problems)
  for (const one of conversations) found.push(...askedTwice(one), ...lost(one, logs))
  return found
}

/** A model that does not see a result asks for it again, and the client gives it again. */
function askedTwice({ name, seen }: Conversation): readonly string[] {
  const twice = seen.filter((mark, index) => seen.indexOf(mark) !== index)
  return twice.map((mark) => `${name} was asked for ${mark} twice`)
}

async function logsOf(store: Store): Promise<readonly Log[]> {
  const logs: Log[] = []
  for (const tenant of (await store.tenants?.({ limit: 100 })) ?? []) {
    for (const { thread } of await store.list(tenant, { limit: 1000 })) {
      logs.push(await readLog(store, { tenant, thread }))
    }
  }
  return logs
}

async function readLog(
  store: Store,
  key: { readonly tenant: string; readonly thread: string },
): Promise<Log> {
  const marks: string[] = []
  const problems: string[] = []
  const problem = (text: string): number => problems.push(`${key.thread}: ${text}`)
  const forks: string[] = []
  const lines: string[] = []
  let header = ''
  for await (const entry of store.read(key)) {
    header ||= JSON.stringify(entry)
    lines.push(JSON.stringify(entry).slice(0, 400))
    if (entry.type === 'setting' && entry.name.startsWith('fork/')) forks.push(entry.name.slice(5))
    // Answers that broke off are kept for people only.
    if (entry.type !== 'message' || entry.kind === 'interrupted') continue
    const text = JSON.stringify(entry)
    marks.push(...marksIn(text))
    for (const half of halvesIn(text)) problem(`${half} is not whole`)
  }
  for (const mark of marks) {
    if (marks.indexOf(mark) !== marks.lastIndexOf(mark))
      problem(`${mark} is there twice; the log ends with\n${lines.slice(-20).join('\n')}`)
  }
  if (new Set(marks.map((mark) => mark.split('-')[1])).size > 1) problem('holds two conversations')
  return { thread: key.thread, header, forks, marks, problems }
}

/**
 * What a client saw must stand in one log, in its order, from the beginning. There is one log for each conversation, and one more for
 * each answer that was kept and that the client never got to see: asked again, it continued without it. A client without a name that asks its
 * first question again looks like another client with the same question, and begins anew. A kill while a fork is copied leaves a copy that
 * its parent does not know of, and nobody uses.
 */
function lost(conversation: Conversation, logs: readonly Log[]): readonly string[] {
  const { seen, id, name } = conversation
  const own = logs.filter(({ marks }) => marks[0]?.split('-')[1] === String(id))
  const found: string[] = []
  const isKept = own.some(({ marks }) => seen.every((mark, index) => marks[index] === mark))
  const shown = own.map(({ thread, marks }) => `\n    ${thread}: ${marks.join(' ')}`).join('')
  if (seen.length > 0 && !isKept) {
    found.push(`${name} saw ${seen.join(' ')}, and no log has that:${shown}`)
  }
  const answers = new Set(own.flatMap(({ marks }) => marks.filter((mark) => mark.startsWith('a'))))
  const unseen = [...answers].filter((mark) => !seen.includes(mark))
  const begun = own.filter(({ marks }) => marks.length > 1 || conversation.isNamed)
  const families = new Set(begun.map(({ header }) => header))
  const forks = new Set(begun.flatMap((log) => log.forks))
  if (families.size + forks.size > 1 + unseen.length) {
    found.push(
      `${name} saw ${seen.join(' ')}, and has ${families.size} threads with ${forks.size} forks:${shown}`,
    )
  }
  return found
}
