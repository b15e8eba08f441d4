// A real browser: one that is named, one that is installed, or, on Debian as root, one that gets installed now.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

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
  const found = onPath() ?? (canInstall() ? install() : undefined)
  if (found !== undefined) return found
  throw new Error(
    'No Chromium was found. Install one (Debian: apt-get install chromium), or name it in CHROMIUM_PATH.',
  )
}

function onPath(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return folders.flatMap((folder) => names.map((name) => join(folder, name))).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

function canInstall(): boolean {
  return existsSync('/etc/debian_version') && process.getuid?.() === 0
}

function install(): string | undefined {
  const run = (...words: readonly string[]): void => {
    spawnSync('apt-get', words, {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
  run('update', '-qq')
  run('install', '-y', '--no-install-recommends', 'chromium')
  return onPath()
}
