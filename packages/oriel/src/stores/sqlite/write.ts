// Every write to the tables. Synchronous; the caller opens and commits the transaction around it.

import type { DatabaseSync, SQLOutputValue, StatementSync } from 'node:sqlite'
import { analysisVersion } from '../../core/search/analysis.ts'
import { hints } from '../../core/search/hint.ts'
import type {
  AppendBatch,
  BlobRow,
  Erasure,
  IndexBatch,
  LogRow,
  SnapshotRow,
  ValueKey,
} from '../backend.ts'
import { scopeTokens } from '../search/scope-tokens.ts'
import type { ThreadKey } from '../store.ts'
import { fromHex, genesis, toHex } from '../stored/entry-form.ts'
import {
  leaderOf,
  mayDiffer,
  type PackedBase,
  packBytes,
  packDifference,
  packFollower,
  packText,
  packTokens,
  unpackTokens,
} from '../stored/packed-text.ts'
import type { Mark } from './high-water.ts'
import { packedRow, packedSql } from './packed-row.ts'

export interface ValueChange {
  readonly key: ValueKey
  /** Absent to delete it. */
  readonly text?: string
  /** What must be there now; absent where anything may be. */
  readonly before?: { readonly text: string | undefined }
}

/** How far back a row is looked for that the next one may repeat. */
const maxBack = 4096
/** Characters with which two rows of a kind begin alike: an edit begins with its rule and its form. */
const alikeLength = 32
/** How far a row may stand behind the one it follows. */
const maxLead = 256

/** Characters of a snapshot that is compressed. */
const maxPackedSnapshot = 2 * 1024 * 1024

/** The id in `uses` that stands for a blob which no entry names yet. */
const waiting = 0

const sql = {
  begin: 'begin immediate',
  commit: 'commit',
  living: 'select id, version from threads where tenant = ? and thread = ? and salt is not null',
  addThread: `insert into threads (version, head, bytes, created_at, updated_at, tenant, thread, salt, analysis)
    values (?, unhex(?), ?, ?, ?, ?, ?, ?, ${analysisVersion}) on conflict do nothing`,
  // A clock that goes backwards must not make a thread look older than it was. The head covers everything in the thread, and its
  // names: where it is as expected, nobody else has written or erased anything.
  grow: `update threads set version = ?, head = unhex(?), bytes = bytes + ?, updated_at = max(updated_at, ?)
    where id = ? and head = unhex(?) and salt is not null`,
  addEntry: `insert into entries (thread, seq, form, type, content, header, external, cuts, body, packed)
    values (?, ?, ?, ?, unhex(?), unhex(?), ?, ?, ?, ?)`,
  newestPacked: `select seq, packed from entries
    where thread = ? and seq < ? and seq > ? and type = ? and packed is not null order by seq desc limit 1`,
  alike: `select seq from entries where thread = ? and seq < ? and seq > ? and type = ? and length(packed) > 1024
    order by seq desc limit 8`,
  packed: packedSql,
  newest: 'select id, header from entries order by id desc limit 1',
  entry: 'select header from entries where id = ?',
  blob: 'select id from blobs where tenant = ? and hash = ?',
  addBlob: 'insert into blobs (tenant, hash, content, packed) values (?, ?, ?, ?)',
  use: 'insert or ignore into uses (thread, blob) values (?, ?)',
  release: 'delete from uses where thread = ? and blob = ?',
  saveSnapshot: `insert into snapshots (thread, version, format, head, hash, value, packed) values (?, ?, ?, unhex(?), unhex(?), ?, ?)
    on conflict (thread) do update set version = excluded.version, format = excluded.format,
    head = excluded.head, hash = excluded.hash, value = excluded.value, packed = excluded.packed
    where excluded.version >= snapshots.version`,
  usedBlobs: 'select blob from uses where thread = ?',
  releaseAll: 'delete from uses where thread = ?',
  dropBlob: 'delete from blobs where id = ? and not exists (select 1 from uses where blob = ?)',
  eraseEntries:
    'update entries set body = null, packed = null, cuts = null, external = null where thread = ?',
  eraseSnapshot: 'delete from snapshots where thread = ?',
  eraseThread: `update threads set salt = null, bytes = 0, indexed = 0, messages = 0, passages = 0, version = ?, head = unhex(?),
    updated_at = max(updated_at, ?) where tenant = ? and thread = ? and head = unhex(?) and salt is not null returning id`,
  releaseTenant:
    'delete from uses where thread = ? and blob in (select id from blobs where tenant = ?)',
  dropTenantBlobs:
    'delete from blobs where tenant = ? and not exists (select 1 from uses where blob = blobs.id)',
  dropTenantValues: 'delete from key_values where tenant = ?',
  value: 'select value from key_values where tenant = ? and space = ? and name = ?',
  putValue: `insert into key_values (tenant, space, name, value) values (?, ?, ?, ?)
    on conflict do update set value = excluded.value`,
  dropValue: 'delete from key_values where tenant = ? and space = ? and name = ?',
  // Of a thread that another analysis indexed, the first batch takes its place.
  indexTo: `update threads set indexed = ?1, messages = ?2, passages = passages + ?3, analysis = ?7
    where tenant = ?4 and thread = ?5 and version >= ?1 and salt is not null
    and case when analysis >= ?7 then indexed = ?6 else ?6 = 0 end returning id`,
  newestPassage: 'select max(id) as id from passages',
  formerTokens: 'select id, tokens from passages where thread = ? and seq > ? and seq <= ?',
  eraseFormer: 'delete from passages where thread = ? and seq > ? and seq <= ?',
  uncount: 'update threads set passages = passages - ? where id = ?',
  addPassage: `insert into passages (id, thread, seq, position, block, inner, start, stop, open, speaker, tokens)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  addTokens: 'insert into search (rowid, tokens) values (?, ?)',
  passageTokens: 'select id, tokens from passages where thread = ?',
  eraseTokens: "insert into search (search, rowid, tokens) values ('delete', ?, ?)",
  erasePassages: 'delete from passages where thread = ?',
  askScrub: 'insert into erasures default values',
  erasure: 'select 1 from erasures limit 1',
  clearErasures: 'delete from erasures',
} as const

export class SqliteLog {
  readonly #statements = new Map<string, StatementSync>()
  readonly #database: DatabaseSync
  readonly #ids = new ThreadIds()
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

  /** False unless the thread is as `before` says: then nothing is written. */
  append(batch: AppendBatch): boolean {
    const id = this.#changeRow(batch)
    if (id === undefined) return false
    const { tenant } = batch.key
    const blobs = new Map(batch.blobs.map((blob) => [blob.hash, this.#keepBlob(tenant, blob)]))
    for (const blob of blobs.values()) this.#run('use', id, blob)
    for (const name of batch.names) this.#useNamed(tenant, id, name)
    for (const row of batch.rows) this.#addEntry(id, row, blobs)
    return true
  }

  /** The id of the thread's row, which is added if it is new; undefined where it is not as expected. */
  #changeRow({ key, before, after, salt, bytes, now }: AppendBatch): number | undefined {
    const { version, head } = after
    const name = `${key.tenant}\0${key.thread}`
    if (before === undefined) {
      const names = [key.tenant, key.thread, salt]
      const added = this.#statement('addThread').run(version, head, bytes, now, now, ...names)
      if (Number(added.changes) === 0) return undefined
      return this.#ids.remember(name, Number(added.lastInsertRowid))
    }
    const grow = (id: number): boolean =>
      Number(this.#statement('grow').run(version, head, bytes, now, id, before.head).changes) === 1
    const known = this.#ids.find(name)
    if (known !== undefined && grow(known)) return known
    const row = this.#statement('living').get(key.tenant, key.thread)
    const id = row === undefined ? undefined : Number(row.id)
    if (id === undefined || id === known || !grow(id)) return undefined
    return this.#ids.remember(name, id)
  }

  /** False where the thread is absent, erased or shorter, or has a newer snapshot. */
  saveSnapshot({ tenant, thread }: ThreadKey, snapshot: SnapshotRow): boolean {
    const { version, format, head, hash, text } = snapshot
    const row = this.#statement('living').get(tenant, thread)
    if (row === undefined || version > Number(row.version)) return false
    // That of a long thread stays as it is: whoever opens it waits for it.
    const packed = (text.length < maxPackedSnapshot ? packText(text) : undefined) ?? null
    const plain = packed === null ? text : ''
    const values = [Number(row.id), version, format, head, hash, plain, packed]
    return Number(this.#statement('saveSnapshot').run(...values).changes) === 1
  }

  putBlob(tenant: string, blob: BlobRow): void {
    this.#run('use', waiting, this.#keepBlob(tenant, blob))
  }

  /** False unless the value is what it is expected to be. */
  putValue({ key, text, before }: ValueChange): boolean {
    const { tenant, space, name } = key
    if (before !== undefined) {
      const row = this.#statement('value').get(tenant, space, name)
      if (row?.value !== before.text) return false
    }
    if (text === undefined) this.#run('dropValue', tenant, space, name)
    else this.#run('putValue', tenant, space, name, text)
    return true
  }

  /** The transaction ends, and the disk has it. */
  commit(): void {
    this.#run('commit')
  }

  /** Deletes what a thread said; the headers stay. False unless the thread is as `before` says. */
  erase({ key, before, row, now }: Erasure): boolean {
    const names = [key.tenant, key.thread, before.head]
    const found = this.#statement('eraseThread').get(row.seq, row.header, now, ...names)
    if (found === undefined) return false
    const id = Number(found.id)
    const blobs = this.#statement('usedBlobs').all(id)
    this.#run('releaseAll', id)
    for (const { blob } of blobs) this.#run('dropBlob', Number(blob), Number(blob))
    this.#run('eraseEntries', id)
    this.#run('eraseSnapshot', id)
    this.#erasePassages(id, key)
    this.#addEntry(id, row, new Map())
    this.#run('askScrub')
    return true
  }

  /** Adds passages. False unless the thread lives and is indexed up to where they begin. */
  index({ key, from, to, messages, passages }: IndexBatch): boolean {
    const counts = [to, messages, passages.length]
    const names = [key.tenant, key.thread]
    const row = this.#statement('indexTo').get(...counts, ...names, from, analysisVersion)
    if (row === undefined) return false
    const scope = scopeTokens(key)
    this.#eraseFormer(Number(row.id), scope, { from, to })
    let newest = Math.floor(Number(this.#statement('newestPassage').get()?.id ?? 0) / hints)
    for (const { seq, index, block, inner = null, from: start, to: stop, ...rest } of passages) {
      const open = rest.isOpen ? 1 : 0
      const place = [Number(row.id), seq, index, block, inner, start, stop, open, rest.speaker]
      newest += 1
      const id = newest * hints + rest.hint
      this.#run('addPassage', id, ...place, packTokens(rest.tokens))
      this.#run('addTokens', id, `${scope} ${rest.tokens}`)
    }
    return true
  }

  /** What another analysis left of these entries. */
  #eraseFormer(thread: number, scope: string, { from, to }: Pick<IndexBatch, 'from' | 'to'>): void {
    const former = this.#statement('formerTokens').all(thread, from, to)
    if (former.length === 0) return
    this.#eraseTokens(former, scope)
    this.#run('eraseFormer', thread, from, to)
    this.#run('uncount', former.length, thread)
  }

  #erasePassages(thread: number, key: ThreadKey): void {
    this.#eraseTokens(this.#statement('passageTokens').all(thread), scopeTokens(key))
    this.#run('erasePassages', thread)
  }

  /** The index takes out only what it is told, word for word. */
  #eraseTokens(rows: readonly Record<string, SQLOutputValue>[], scope: string): void {
    for (const { id, tokens } of rows)
      this.#run('eraseTokens', Number(id), `${scope} ${unpackTokens(tokens)}`)
  }

  /** Deletes a tenant's values, and its blobs that no thread uses. */
  eraseTenant(tenant: string): void {
    this.#run('releaseTenant', waiting, tenant)
    const blobs = this.#statement('dropTenantBlobs').run(tenant)
    const values = this.#statement('dropTenantValues').run(tenant)
    if (Number(blobs.changes) + Number(values.changes) > 0) this.#run('askScrub')
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

  #addEntry(thread: number, row: LogRow, blobs: ReadonlyMap<string, number>): void {
    const { seq, form, type, content, header, external = null, body = null } = row
    const packed = (body === null ? undefined : this.#pack(thread, row, body)) ?? null
    const plain = packed === null ? body : null
    const cuts = row.cuts?.map(([offset, hash]) => [offset, blobs.get(hash)])
    const cutColumn = cuts === undefined ? null : JSON.stringify(cuts)
    const values = [thread, seq, form, type, content, header, external, cutColumn, plain, packed]
    this.#added = { position: this.#run('addEntry', ...values), header }
  }

  #pack(thread: number, row: LogRow, body: string): Uint8Array | undefined {
    if (row.type === 'request') return packFollower(body, this.#leader(thread, row))
    if (!mayDiffer(row)) return packText(body)
    return packDifference(body, this.#alike(thread, row, body))
  }

  /** The newest row before that begins as this one does: edits of several rules stand in turns, and none repeats those of another. */
  #alike(thread: number, { seq, type }: LogRow, body: string): PackedBase | undefined {
    const found = this.#statement('alike').all(thread, seq, seq - maxBack, type)
    for (const row of found) {
      const base = packedRow(this.#statement('packed'), thread, Number(row.seq))
      const isAlike = base?.text.startsWith(body.slice(0, alikeLength)) === true
      if (isAlike) return { ...base, seq: Number(row.seq) }
    }
    return undefined
  }

  /** The row that the newest one of this kind follows, or that one itself; after a while another one leads. */
  #leader(thread: number, { seq, type }: LogRow): PackedBase | undefined {
    const found = this.#statement('newestPacked').get(thread, seq, seq - maxLead, type)
    const leader = leaderOf(found?.packed) ?? Number(found?.seq ?? 0)
    if (leader === 0 || leader <= seq - maxLead) return undefined
    const base = packedRow(this.#statement('packed'), thread, leader)
    return base && { ...base, seq: leader }
  }

  /** The id of a blob with this content, which is added if it is new. */
  #keepBlob(tenant: string, { hash, content }: BlobRow): number {
    const name = fromHex(hash)
    const row = this.#statement('blob').get(tenant, name)
    if (row !== undefined) return Number(row.id)
    const packed = packBytes(content)
    return this.#run('addBlob', tenant, name, packed ?? content, packed === undefined ? 0 : 1)
  }

  #useNamed(tenant: string, thread: number, name: string): void {
    const row = this.#statement('blob').get(tenant, fromHex(name))
    if (row === undefined) return
    this.#run('use', thread, Number(row.id))
    this.#run('release', waiting, Number(row.id))
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

/**
 * The ids of the threads that were written last: looking one up again took 20 microseconds of an append's 100. One may belong to another
 * thread, where the transaction that added it was rolled back; every write compares the head too, which covers the names of the thread.
 */
class ThreadIds {
  readonly #ids = new Map<string, number>()

  find(name: string): number | undefined {
    return this.#ids.get(name)
  }

  remember(name: string, id: number): number {
    this.#ids.delete(name)
    this.#ids.set(name, id)
    if (this.#ids.size > maxIds) {
      const [oldest] = this.#ids.keys()
      this.#ids.delete(oldest as string)
    }
    return id
  }
}

const maxIds = 10_000
