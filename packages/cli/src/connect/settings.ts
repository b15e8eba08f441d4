// The options of `oriel connect`, checked.

import { OrielError } from 'oriel'
import { defaultPort } from '../defaults.ts'
import type { RawOptions } from '../inspect/settings.ts'
import { choice } from '../names.ts'
import type { How } from './agents.ts'
import type { ConnectSettings } from './command.ts'

const hows: readonly How[] = ['base-url', 'plugin']

export function readConnectSettings(
  names: readonly string[],
  { how = 'base-url', url = `http://127.0.0.1:${defaultPort}`, dryRun, json }: RawOptions,
): ConnectSettings {
  const chosen = choice('how', how, hows)
  const switches = { isDryRun: dryRun === true, isJson: json === true }
  return { names, how: chosen, url: readUrl(String(url)), ...switches }
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text.replace(/\/+$/, '')
  const advice = `such as http://127.0.0.1:${defaultPort}`
  throw new OrielError(
    'invalid-option',
    `--url must be the address of a gateway, ${advice}; got '${text}'.`,
  )
}
