// Programs that tests need from the operating system: one that is installed or, on Debian as root, one that gets installed now.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Where servers and tools live that are not on everybody's path. */
const furtherFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

export interface SystemProgramOptions {
  /** @default the name of the package */
  readonly names?: readonly string[]
}

/** The path of a program, by the Debian package that has it; undefined where there is none and none can be installed. */
export function systemProgram(
  debianPackage: string,
  { names = [debianPackage] }: SystemProgramOptions = {},
): string | undefined {
  const found = find(names)
  if (found !== undefined || !canInstall()) return found
  install(debianPackage)
  return find(names)
}

function find(names: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...furtherFolders]
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

function install(debianPackage: string): void {
  // Test files run side by side: the second one waits for the first one's lock.
  const lock = 'DPkg::Lock::Timeout=300'
  for (const words of [
    ['update', '-qq'],
    ['install', '-y', '--no-install-recommends', debianPackage],
  ]) {
    spawnSync('apt-get', ['-o', lock, ...words], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  }
}
