// System programs for tests: finds an installed one or, on Debian as root, installs it.

import { spawnSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Directories of servers and tools that are often not on the PATH. */
const furtherFolders = ['/usr/local/sbin', '/usr/sbin', '/sbin']

export interface SystemProgramOptions {
  /** @default the name of the package */
  readonly names?: readonly string[]
}

/**
 * The path of a program, by its Debian package; undefined if it is missing and cannot be installed.
 */
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
  // Test files run concurrently, so wait for the package manager's lock.
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
