// Every write to the tables. Synchronous; the caller opens and commits the transaction around it.

import { hash } from 'node:crypto'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { assert } from '../../core/log/errors.ts'
import type { AppendResult, ThreadKey } from '../store.ts'
import { cutText } from '../stored/blob-extraction.ts'
import {
  blobHash,
  type ChainedEntry,
  chainEntries,
  contentHash,
  createSalt,
  erasedEntry,
  externalKey,
  fromHex,
  genesis,
  namedHashes,
  storedForm,
  toHex,
  type WrittenEntry,
} from '../stored/entry-form.ts'
import { threadNotFound, versionConflict } from '../stored/errors.ts'
import { HeadCache, type LivingThread } from './head-cache.ts'
import type { Mark } from './high-water.ts'

export interface AppendInput {
  readonly key: ThreadKey
  readonly entries: readonly WrittenEntry[]
  readonly expected: number
  readonly now: number
}

export interface SnapshotInput {
  readonly key: ThreadKey
  readonly version: number
  readonly format: number
  readonly text: string
}

/** Without a salt when the thread was erased. */
type ThreadRow = LivingThread | (Omit<LivingThread, 'salt'> & { readonly salt?: never })

/** The id of a thread that is not there yet: those of SQLite begin with 1. */
const unborn = 0

/** The id in `uses` that stands for a blob which no entry names yet. */
const waiting = 0

const sql = {
  begin: 'begin immediate',
  commit: 'commit',
  thread: 'select id, version, head, salt from threads where tenant = ? and thread = ?',
  addThread: `insert into threads (version, head, bytes, created_at, updated_at, tenant, thread, salt)
    values (?, unhex(?), ?, ?, ?, ?, ?, ?) on conflict do nothing`,
  // A clock that goes backwards must not make a thread look older than it was. The head covers everything in the thread, and its
  // names: where it is as expected, nobody else has written or erased anything.
  grow: `update threads set version = ?, head = unhex(?), bytes = bytes + ?, updated_at = max(updated_at, ?)
    where id = ? and head = unhex(?)`,
  contents: 'select content from entries where thread = ? and seq between ? and ? order by seq',
  header: 'select header from entries where thread = ? and seq = ?',
  addEntry: `insert into entries (thread, seq, form, type, content, header, external, cuts, body)
    values (?, ?, ?, ?, unhex(?), unhex(?), ?, ?, ?)`,
  newest: 'select id, header from entries order by id desc limit 1',
  entry: 'select header from entries where id = ?',
  blob: 'select id from blobs where tenant = ? and hash = ?',
  addBlob: 'insert into blobs (tenant, hash, content) values (?, ?, ?)',
  use: 'insert or ignore into uses (thread, blob) values (?, ?)',
  release: 'delete from uses where thread = ? and blob = ?',
  saveSnapshot: `insert into snapshots (thread, version, format, head, hash, value) values (?, ?, ?, ?, ?, ?)
    on conflict (thread) do update set version = excluded.version, format = excluded.format,
    head = excluded.head, hash = excluded.hash, value = excluded.value
    where excluded.version >= snapshots.version`,
  usedBlobs: 'select blob from uses where thread = ?',
  releaseAll: 'delete from uses where thread = ?',
  dropBlob: 'delete from blobs where id = ? and not exists (select 1 from uses where blob = ?)',
  eraseEntries: 'update entries set body = null, cuts = null, external = null where thread = ?',
  eraseSnapshot: 'delete from snapshots where thread = ?',
  eraseThread: `update threads set salt = null, bytes = 0, version = ?, head = unhex(?),
    updated_at = max(updated_at, ?) where id = ?`,
  threadsOf: 'select thread from threads where tenant = ? and salt is not null',
  releaseTenant: 'delete from uses where blob in (select id from blobs where tenant = ?)',
  dropTenantBlobs: 'delete from blobs where tenant = ?',
  askScrub: 'insert into erasures default values',
  erasure: 'select 1 from erasures limit 1',
  clearErasures: 'delete from erasures',
} as const

export class SqliteLog {
  readonly #statements = new Map<string, StatementSync>()
  readonly #database: DatabaseSync
  readonly #left = new HeadCache()
  /** The entry that was added last in this transaction. */
  #added: Mark | undefined

  constructor(database: DatabaseSync) {
    this.#database = database
  }

  /** A transaction begins. */
  begin(): void {
    this.#added = undefined
    this.#run('begin')
  }

  append(input: AppendInput): AppendResult {
    const { key, entries, expected } = input
    if (entries.length > 0) {
      // Mostly the thread is new or as it was left here, and changing its row tells whether it is.
      const likely = expected === 0 ? newThread() : this.#left.find(key)
      const result = likely?.version === expected ? this.#extend(likely, input) : undefined
      if (result !== undefined) return result
    }
    const found = this.#thread(key)
    const actual = found?.version ?? 0
    if (found !== undefined && found.salt === undefined) throw threadNotFound(key)
    if (actual !== expected || entries.length === 0)
      return this.#repeated(key, found, entries, expected)
    const result = this.#extend(found ?? newThread(), input)
    assert(result !== undefined, 'nobody else changes a thread within this transaction')
    return result
  }

  /** Adds entries to a thread, unless its row is not what it is taken for: then nothing is written. */
  #extend(thread: LivingThread, input: AppendInput): AppendResult | undefined {
    const { key, entries, expected } = input
    const { salt, head: previous } = thread
    const chained = chainEntries({ key, salt, previous }, entries)
    const version = expected + chained.length
    const head = chained.at(-1)?.header ?? previous
    const id = this.#changeRow(thread, { ...input, version, head })
    if (id === undefined) return undefined
    const row = { id, version, head, salt }
    for (const entry of chained) this.#addEntry(key, row, entry)
    this.#left.leave(key, row)
    return { version, head }
  }

  /** The id of the row, which is added if it is new; undefined where it is not as it is taken for. */
  #changeRow(thread: LivingThread, to: AppendInput & AppendResult): number | undefined {
    const { version, head, now } = to
    const { id, salt } = thread
    const bytes = to.entries.reduce((sum, entry) => sum + entry.bytes, 0)
    if (id !== unborn) {
      const grown = this.#statement('grow').run(version, head, bytes, now, id, thread.head)
      return Number(grown.changes) === 1 ? id : undefined
    }
    const names = [to.key.tenant, to.key.thread, salt]
    const added = this.#statement('addThread').run(version, head, bytes, now, now, ...names)
    return Number(added.changes) === 1 ? Number(added.lastInsertRowid) : undefined
  }

  saveSnapshot({ key, version, format, text }: SnapshotInput): void {
    const thread = this.#thread(key)
    if (thread?.salt === undefined) throw threadNotFound(key)
    if (version > thread.version)
      throw versionConflict(key, { expected: version, actual: thread.version })
    // The head ties the snapshot to one history: after a repaired log it must not stand for other entries.
    const head = fromHex(this.#headAt(thread, version))
    const digest = hash('sha256', text, 'buffer')
    this.#run('saveSnapshot', thread.id, version, format, head, digest, text)
  }

  putBlob(tenant: string, content: Uint8Array): string {
    const name = blobHash(content)
    this.#run('use', waiting, this.#keepBlob(tenant, content, fromHex(name)))
    return name
  }

  /** The transaction ends, and the disk has it. */
  commit(): void {
    this.#run('commit')
  }

  /** Deletes what a thread said; the headers stay. */
  erase(key: ThreadKey, now: number): void {
    const thread = this.#thread(key)
    if (thread?.salt === undefined) return
    this.#eraseThread(key, thread, now)
    this.#run('askScrub')
  }

  /** Deletes what all threads of a tenant said, and its blobs. */
  eraseTenant(tenant: string, now: number): void {
    const threads = this.#statement('threadsOf').all(tenant)
    for (const { thread } of threads) {
      const key = { tenant, thread: String(thread) }
      this.#eraseThread(key, this.#thread(key) as ThreadRow, now)
    }
    this.#run('releaseTenant', tenant)
    const blobs = this.#statement('dropTenantBlobs').run(tenant)
    if (threads.length > 0 || Number(blobs.changes) > 0) this.#run('askScrub')
  }

  /** Whether deleted content may still be in the files. */
  needsScrub(): boolean {
    return this.#statement('erasure').get() !== undefined
  }

  confirmScrub(): void {
    this.#run('clearErasures')
  }

  /** The newest entry of the whole store. */
  newest(): Mark {
    if (this.#added !== undefined) return this.#added
    const row = this.#statement('newest').get()
    if (row === undefined) return { position: 0, header: genesis }
    return { position: Number(row.id), header: toHex(row.header) }
  }

  /** Whether the entry that a mark names is there, with that header. */
  holds(mark: Mark): boolean {
    if (mark.position === 0) return true
    const row = this.#statement('entry').get(mark.position)
    return row !== undefined && toHex(row.header) === mark.header
  }

  #thread(key: ThreadKey): ThreadRow | undefined {
    const row = this.#statement('thread').get(key.tenant, key.thread)
    if (row === undefined) return undefined
    const own = { id: Number(row.id), version: Number(row.version), head: toHex(row.head) }
    return row.salt === null ? own : { ...own, salt: String(row.salt) }
  }

  /** Answers an append whose entries are already there as it was answered the first time; anything else is a conflict. */
  #repeated(
    key: ThreadKey,
    thread: ThreadRow | undefined,
    entries: readonly WrittenEntry[],
    expected: number,
  ): AppendResult {
    const version = expected + entries.length
    const actual = thread?.version ?? 0
    if (version > actual) throw versionConflict(key, { expected, actual })
    if (thread?.salt === undefined) return { version, head: genesis }
    const rows = this.#statement('contents').all(thread.id, expected + 1, version)
    const { salt } = thread
    const isThere = entries.every(
      ({ text }, index) => toHex(rows[index]?.content) === contentHash(salt, text),
    )
    if (!isThere) throw versionConflict(key, { expected, actual })
    return { version, head: this.#headAt(thread, version) }
  }

  #headAt(thread: ThreadRow, version: number): string {
    if (version === 0) return genesis
    if (version === thread.version) return thread.head
    return toHex(this.#statement('header').get(thread.id, version)?.header)
  }

  #addEntry(key: ThreadKey, thread: LivingThread, entry: ChainedEntry): void {
    const { seq, type, text, content, header, externalId } = entry
    const { body, cuts } = cutText(text)
    const places = cuts.map(({ offset, literal }) => {
      const bytes = Buffer.from(literal)
      const blob = this.#keepBlob(key.tenant, bytes, fromHex(blobHash(bytes)))
      this.#run('use', thread.id, blob)
      return [offset, blob]
    })
    for (const name of namedHashes(entry)) this.#useNamed(key, thread, name)
    const external = externalId === undefined ? null : externalKey(thread.salt, externalId)
    const cutColumn = places.length === 0 ? null : JSON.stringify(places)
    const position = this.#run(
      'addEntry',
      thread.id,
      seq,
      storedForm,
      type,
      content,
      header,
      external,
      cutColumn,
      body,
    )
    this.#added = { position, header }
  }

  /** The id of a blob with this content, which is added if it is new. */
  #keepBlob(tenant: string, content: Uint8Array, name: Uint8Array): number {
    const row = this.#statement('blob').get(tenant, name)
    return row === undefined ? this.#run('addBlob', tenant, name, content) : Number(row.id)
  }

  #useNamed(key: ThreadKey, thread: ThreadRow, name: string): void {
    const row = this.#statement('blob').get(key.tenant, fromHex(name))
    if (row === undefined) return
    this.#run('use', thread.id, Number(row.id))
    this.#run('release', waiting, Number(row.id))
  }

  #eraseThread(key: ThreadKey, { id, version, head }: ThreadRow, now: number): void {
    const blobs = this.#statement('usedBlobs').all(id)
    this.#run('releaseAll', id)
    for (const { blob } of blobs) this.#run('dropBlob', Number(blob), Number(blob))
    this.#run('eraseEntries', id)
    this.#run('eraseSnapshot', id)
    const last = erasedEntry(key, { seq: version + 1, previous: head, at: now })
    const { seq, type, text, content, header } = last
    const position = this.#run(
      'addEntry',
      ...[id, seq, storedForm, type, content, header, null, null, text],
    )
    this.#added = { position, header }
    this.#run('eraseThread', seq, header, now, id)
    this.#left.forget(key)
  }

  /** Runs a statement and gives back the id of the row it inserted. */
  #run(name: keyof typeof sql, ...values: (string | number | Uint8Array | null)[]): number {
    return Number(this.#statement(name).run(...values).lastInsertRowid)
  }

  #statement(name: keyof typeof sql): StatementSync {
    const known = this.#statements.get(name)
    if (known !== undefined) return known
    const statement = this.#database.prepare(sql[name])
    this.#statements.set(name, statement)
    return statement
  }
}

function newThread(): LivingThread {
  return { id: unborn, version: 0, head: genesis, salt: createSalt() }
}
