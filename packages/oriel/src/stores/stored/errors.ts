// The errors that every store throws, worded once.

import { OrielError } from '../../core/log/errors.ts'
import type { ThreadKey } from '../store.ts'

export function versionConflict(
  key: ThreadKey,
  versions: { expected: number; actual: number },
): OrielError {
  return new OrielError(
    'version-conflict',
    `Thread ${key.thread} has ${versions.actual} entries, the writer expected ${versions.expected}. Read again and retry.`,
    { details: { thread: key.thread, ...versions } },
  )
}

export function threadNotFound(key: ThreadKey): OrielError {
  return new OrielError(
    'not-found',
    `Thread ${key.thread} does not exist for this tenant, or was erased. Use another id for a new thread.`,
    { details: { thread: key.thread } },
  )
}

export function corruptEntry(key: ThreadKey, seq: number): OrielError {
  return new OrielError(
    'corrupt-entry',
    `Entry ${seq} of thread ${key.thread} does not match its hash. Run \`oriel doctor\`.`,
    { details: { thread: key.thread, seq } },
  )
}

export function storeClosed(): OrielError {
  return new OrielError('closed', 'The store is closed. Open it again.')
}

export function isolation(): OrielError {
  return new OrielError(
    'isolation',
    'The database returned a row of another tenant or thread. Please report this.',
  )
}

export function truncated(key: ThreadKey, seq: number): OrielError {
  return new OrielError(
    'log-truncated',
    `Entry ${seq} of thread ${key.thread} was acknowledged and is missing. Run \`oriel doctor\`.`,
    { details: { thread: key.thread, seq } },
  )
}

export function corruptBlob(name: string): OrielError {
  return new OrielError(
    'corrupt-entry',
    `Blob ${name} does not match its hash. Run \`oriel doctor\`.`,
    {
      details: { blob: name },
    },
  )
}

export function unknownForm(
  key: Pick<ThreadKey, 'thread'>,
  versions: { found: number; supported: number },
): OrielError {
  return new OrielError(
    'schema-version',
    `Thread ${key.thread} holds entries of form ${versions.found}; this version of Oriel knows up to ${versions.supported}. Update Oriel.`,
    { details: versions },
  )
}

export function backendFailed(name: string, cause: unknown): OrielError {
  return new OrielError(
    'storage-failed',
    `The ${name} backend failed; whether a write took place is not known. Retrying the same call is safe.`,
    { cause },
  )
}

export function tooContended(name: string): OrielError {
  return new OrielError(
    'version-conflict',
    `The value ${name} was changed by others again and again. Retry later.`,
    { details: { name } },
  )
}
