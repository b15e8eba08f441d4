// The options of `oriel connect`, checked.

import { OrielError } from 'oriel'
import { defaultPort } from '../defaults.ts'
import type { RawOptions } from '../inspect/settings.ts'
import type { How } from './agents.ts'
import type { ConnectSettings } from './command.ts'

const hows: readonly How[] = ['base-url', 'plugin']

export function readConnectSettings(
  names: readonly string[],
  { how = 'base-url', url = `http://127.0.0.1:${defaultPort}`, dryRun, json }: RawOptions,
): ConnectSettings {
  const chosen = hows.find((one) => one === how)
  if (chosen === undefined) {
    throw new OrielError(
      'invalid-option',
      `--how must be ${hows.join(' or ')}, not ${String(how)}.`,
    )
  }
  const switches = { isDryRun: dryRun === true, isJson: json === true }
  return { names, how: chosen, url: readUrl(String(url)), ...switches }
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url?.protocol === 'http:' || url?.protocol === 'https:') return text.replace(/\/+$/, '')
  throw new OrielError('invalid-option', `--url must be the address of a gateway, not ${text}.`)
}
