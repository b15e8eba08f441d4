// Disk baseline: sync times, and a minimal durable SQLite table for comparison.

import {
  closeSync,
  fsyncSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Contender } from './harness.ts'

/** File system types. An in-memory one makes disk numbers meaningless. */
const fileSystems: Readonly<Record<number, string>> = {
  61267: 'ext4',
  2435016766: 'btrfs',
  1481003842: 'xfs',
  16914836: 'tmpfs (in memory: no disk is measured)',
  2035054128: 'overlayfs',
}

/** A temporary directory below `parent`, removed afterwards. */
export async function withFolder<T>(
  parent: string | undefined,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(parent ?? tmpdir(), 'oriel-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function fileSystemOf(folder: string): string {
  const { type } = statfsSync(folder)
  return fileSystems[type] ?? `file system 0x${type.toString(16)}`
}

/** Overwrites 4 KB of a file and syncs: the cost of one sync. */
export function fsyncContender(file: string, steps: number): Contender {
  const page = Buffer.alloc(4096, 1)
  writeFileSync(file, Buffer.alloc(steps * page.length))
  return {
    name: 'fsync of 4 KB',
    steps,
    run() {
      const handle = openSync(file, 'r+')
      for (let step = 0; step < steps; step++) {
        writeSync(handle, page, 0, page.length, step * page.length)
        fsyncSync(handle)
      }
      closeSync(handle)
    },
  }
}

/**
 * One row per message in SQLite, with the store's durability (WAL, synchronous=FULL) and nothing
 * else.
 */
export class RawTable {
  readonly #database: DatabaseSync
  #rows = 0

  constructor(path: string) {
    this.#database = new DatabaseSync(path)
    this.#database.exec('pragma journal_mode = wal; pragma synchronous = full')
    this.#database.exec(
      'create table message (thread text, seq integer, content text, primary key (thread, seq))',
    )
  }

  /** One transaction per text. */
  insertEach(texts: readonly string[]): void {
    const insert = this.#database.prepare('insert into message values (?, ?, ?)')
    for (const text of texts) insert.run('thread', ++this.#rows, text)
  }

  /** One transaction for all texts. */
  insertTogether(texts: readonly string[]): void {
    this.#database.exec('begin immediate')
    this.insertEach(texts)
    this.#database.exec('commit')
  }

  /** All rows, parsed. */
  load(): readonly unknown[] {
    const rows = this.#database.prepare('select content from message where thread = ? order by seq')
    return rows.all('thread').map(({ content }) => JSON.parse(String(content)) as unknown)
  }

  close(): void {
    this.#database.close()
  }
}
