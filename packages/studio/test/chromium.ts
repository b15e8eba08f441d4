// A real browser: one that is named, one that is installed, or, on Debian as root, one that gets installed now.

import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'
import { systemProgram } from '../../../scripts/system-program.ts'

const names = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'chrome']

/** Starts the browser. Throws with the way to get one where there is none: a missing browser is a failure, never a skip. */
export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: findChromium(),
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--font-render-hinting=none',
    ],
  })
}

function findChromium(): string {
  const named = process.env.CHROMIUM_PATH
  if (named !== undefined) {
    if (existsSync(named)) return named
    throw new Error(`CHROMIUM_PATH names ${named}, which does not exist.`)
  }
  const found = systemProgram('chromium', { names })
  if (found !== undefined) return found
  throw new Error(
    'No Chromium was found. Install one (Debian: apt-get install chromium), or name it in CHROMIUM_PATH.',
  )
}
