// Whole outputs as files: created exclusively, readable by nobody else, in a directory that is ours.

import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, unlink } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { OrielError } from '../../core/log/errors.ts'
import type { FileAnswer, FileOf, FileRequest } from '../../core/state/file-request.ts'

/** How many answers are remembered: a file that is there is found again. */
const remembered = 1000

/** Writes what rules ask for, before the view that names it is committed. */
export class OutputFiles {
  readonly #answers = new Map<string, FileAnswer>()
  readonly #onFailed: (reason: string) => void

  constructor(onFailed: (reason: string) => void) {
    this.#onFailed = onFailed
  }

  /** Answers from what was written; what was not is answered as if it had been. */
  readonly fileOf: FileOf = (wish) => this.#answers.get(pathOf(wish)) ?? assumeSaved(wish)

  /**
   * Writes what a pass of the rules asks for. `note` puts the names into the log before: erasing must find every file, also of a request
   * that was never made. Answers what it wrote.
   */
  async prepare(
    pass: (fileOf: FileOf) => unknown,
    note: (files: readonly OutputFile[]) => Promise<void>,
  ): Promise<readonly OutputFile[]> {
    const wanted = new Map<string, FileRequest>()
    pass((wish) => {
      const path = pathOf(wish)
      if (!this.#answers.has(path)) wanted.set(path, wish)
      return this.fileOf(wish)
    })
    if (wanted.size === 0) return []
    const wishes = [...wanted.values()]
    const files = wishes.map(({ directory, sha256 }) => ({
      directory: resolve(directory),
      sha256,
    }))
    await note(files)
    await this.#write(wishes)
    return files
  }

  /** Never rejects: a file that cannot be written is said to be so, and the log has the output. */
  async #write(wanted: readonly FileRequest[]): Promise<void> {
    for (const wish of wanted) {
      const path = pathOf(wish)
      if (this.#answers.has(path)) continue
      this.#answers.set(path, await this.#save(wish, path))
      if (this.#answers.size > remembered) {
        const [oldest] = this.#answers.keys()
        this.#answers.delete(oldest as string)
      }
    }
  }

  async #save(wish: FileRequest, path: string): Promise<FileAnswer> {
    try {
      await saveOutput(wish, path)
      return { state: 'saved', path }
    } catch (error) {
      const reason = reasonOf(error)
      this.#onFailed(reason)
      return { state: 'failed', reason }
    }
  }
}

/** A file that was written for a thread. */
export interface OutputFile {
  /** Absolute. */
  readonly directory: string
  readonly sha256: string
}

/**
 * Removes the file of an output, if it is there. What has its name and other content is not ours, and stays. Rejects with
 * 'storage-failed' where it cannot be removed.
 */
export async function removeOutputFile(file: OutputFile): Promise<void> {
  const path = pathOf(file)
  try {
    await assertSame(path, { sha256: file.sha256 })
    await unlink(path)
  } catch (error) {
    const isAbsent = ['ENOENT', 'ENOTDIR', 'ELOOP'].some((code) => hasCode(error, code))
    if (isAbsent || OrielError.is(error)) return
    const message = `A file with an output could not be removed: ${reasonOf(error)}. Nothing was erased.`
    throw new OrielError('storage-failed', message, { cause: error })
  }
}

/** The answer for a past request: what was named then was written then. */
export function assumeSaved(wish: FileRequest): FileAnswer {
  return { state: 'saved', path: pathOf(wish) }
}

/** The absolute path; nothing that a tool or a model said is in it. */
function pathOf({ directory, sha256 }: OutputFile): string {
  return join(resolve(directory), `${sha256}.txt`)
}

async function saveOutput({ directory, text, sha256 }: FileRequest, path: string): Promise<void> {
  await ownDirectory(resolve(directory))
  const content = Buffer.from(text.toWellFormed(), 'utf8')
  const { O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW = 0 } = constants
  let file: FileHandle
  try {
    file = await open(path, O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW, 0o600)
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error
    return await assertSame(path, { sha256, size: content.length })
  }
  try {
    // The mode that `open` takes is narrowed by the process's mask, never widened; this makes it exact.
    await file.chmod(0o600)
    await file.writeFile(content)
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Made by us, or checked to be ours: no link, our user, and nobody else may look into it. */
async function ownDirectory(directory: string): Promise<void> {
  await makeDirectory(directory)
  const stats = await lstat(directory)
  if (!stats.isDirectory()) throw unsafe('the directory is a link or no directory')
  if (process.getuid === undefined) return
  if (stats.uid !== process.getuid()) throw unsafe('the directory belongs to another user')
  if ((stats.mode & 0o077) !== 0) throw unsafe('others may use the directory, it needs mode 700')
}

/** With its parents, each tried once more at most: Node's own `recursive` never ends where nothing can be made, as in /proc. */
async function makeDirectory(directory: string): Promise<void> {
  const make = async (): Promise<void> => {
    await mkdir(directory, { mode: 0o700 }).catch((error: unknown) => {
      if (!hasCode(error, 'EEXIST')) throw error
    })
  }
  try {
    await make()
  } catch (error) {
    const parent = dirname(directory)
    if (!hasCode(error, 'ENOENT') || parent === directory) throw error
    await makeDirectory(parent)
    await make()
  }
}

/** The same output was kept before, or something else has the name: then nothing is overwritten. */
async function assertSame(
  path: string,
  { sha256, size }: { readonly sha256: string; readonly size?: number },
): Promise<void> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats: Stats = await file.stat()
    const isOther = !stats.isFile() || (size !== undefined && stats.size !== size)
    if (isOther) throw unsafe('another file has its name')
    const hash = createHash('sha256')
      .update(await file.readFile())
      .digest('hex')
    if (hash !== sha256) throw unsafe('another file has its name')
  } finally {
    await file.close()
  }
}

function unsafe(why: string): OrielError {
  return new OrielError('storage-failed', why)
}

/** Short, and without a path that others chose. */
function reasonOf(error: unknown): string {
  if (OrielError.is(error)) return error.message
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : 'unknown'
}

function hasCode(error: unknown, code: string): boolean {
  return (error as { code?: unknown }).code === code
}
