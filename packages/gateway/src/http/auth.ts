// Who calls: keys are known by their hash, tenants by the hash of the credential.

import { hash, timingSafeEqual } from 'node:crypto'
import { OrielError } from 'oriel'
import { keyHeaders } from 'oriel/providers'
import type { KeyOptions } from '../options.ts'
import type { ReadableHeaders } from './header-list.ts'

export interface Caller {
  readonly tenant: string
  /** Whether every tenant's threads may be seen. */
  readonly isAdmin: boolean
  readonly mayOverride: boolean
  /** Headers that carried the gateway's own key: they are not passed on. */
  readonly keyHeaders: readonly string[]
}

interface KnownKey {
  readonly digest: Buffer
  readonly caller: Omit<Caller, 'keyHeaders'>
}

/** Tells callers from their headers; undefined for those that may not call. */
export type Authenticate = (headers: ReadableHeaders) => Caller | undefined

export function createAuthenticate(keys: readonly KeyOptions[]): Authenticate {
  const known = keys.map(toKnown)
  return (headers) => {
    const credentials = credentialsOf(headers)
    if (known.length === 0) return openCaller(credentials)
    const found = credentials.flatMap(({ header, value }) => {
      const key = find(known, value)
      return key === undefined ? [] : [{ header, caller: key.caller }]
    })
    const [first] = found
    return first && { ...first.caller, keyHeaders: found.map(({ header }) => header) }
  }
}

/** Without keys the port itself is the border: callers share it, but never a thread, unless they send the same credential. */
function openCaller(credentials: readonly Credential[]): Caller {
  const [credential] = credentials
  return {
    tenant:
      credential === undefined
        ? 'local'
        : `c-${digestOf(credential.value).toString('hex').slice(0, 32)}`,
    // Whoever can read the file of the store may also see it here.
    isAdmin: credential === undefined,
    mayOverride: true,
    keyHeaders: [],
  }
}

/** Looks at every key, so that the time says nothing about which one is near. */
function find(known: readonly KnownKey[], value: string): KnownKey | undefined {
  const digest = digestOf(value)
  let found: KnownKey | undefined
  for (const key of known) if (timingSafeEqual(key.digest, digest)) found = key
  return found
}

interface Credential {
  readonly header: string
  readonly value: string
}

function credentialsOf(headers: ReadableHeaders): readonly Credential[] {
  const all = ['x-oriel-key', ...keyHeaders].map((header) => {
    const value = headers.get(header) ?? ''
    const bearer = header === 'authorization' ? /^Bearer +(.+)$/i.exec(value)?.[1] : undefined
    return { header, value: bearer ?? value }
  })
  // However long: one that was left out would be nobody's, and its caller would be taken for everybody without one.
  return all.filter(({ value }) => value !== '')
}

function toKnown({
  name,
  key,
  hash,
  tenant,
  mayOverride = false,
  isAdmin = false,
}: KeyOptions): KnownKey {
  if ((key === undefined) === (hash === undefined)) {
    throw invalid(name, 'needs either a key or its hash')
  }
  if (key !== undefined && key.length < 16) throw invalid(name, 'must have at least 16 characters')
  if (hash !== undefined && !/^[0-9a-f]{64}$/.test(hash)) {
    throw invalid(name, 'has a hash that is not 64 lower-case hexadecimal digits of SHA-256')
  }
  const digest = key === undefined ? Buffer.from(hash as string, 'hex') : digestOf(key)
  const own = tenant ?? `k-${digest.toString('hex').slice(0, 32)}`
  return { digest, caller: { tenant: own, isAdmin, mayOverride } }
}

function invalid(name: string, problem: string): OrielError {
  return new OrielError('invalid-option', `The key '${name}' ${problem}.`, { path: 'keys' })
}

function digestOf(value: string): Buffer {
  return hash('sha256', value, 'buffer')
}
