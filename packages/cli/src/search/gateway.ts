// What a gateway that runs says through its API: the same answers as from its store, while it has it open.

import { wrong } from '../doctor/store-options.ts'

export interface GatewayAddress {
  readonly url: string
  /** Its API key; from `--key` or ORIEL_KEY. */
  readonly key?: string
}

const timeoutMs = 15_000

/** Asks a gateway. What it refuses is told in its own words. */
export async function askGateway<T>({ url, key }: GatewayAddress, path: string): Promise<T> {
  const headers: Record<string, string> =
    key === undefined ? {} : { authorization: `Bearer ${key}` }
  let answer: Response
  try {
    const address = new URL(path, url.endsWith('/') ? url : `${url}/`)
    answer = await fetch(address, { headers, signal: AbortSignal.timeout(timeoutMs) })
  } catch {
    throw wrong(`no gateway answers at ${url}; start one with oriel serve, or leave out --url.`)
  }
  const text = await answer.text()
  if (answer.ok) return JSON.parse(text) as T
  throw wrong(`the gateway answered ${answer.status}: ${reasonIn(text)}`)
}

function reasonIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: { readonly message?: unknown } }
    if (typeof error?.message === 'string') return error.message.slice(0, 300)
  } catch {
    // Another server than a gateway.
  }
  return 'it gave no reason.'
}
