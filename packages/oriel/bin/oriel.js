#!/usr/bin/env node
// The `oriel` command hands over to @oriel/cli, so that people who want only the library do not install the rest.
// Written so that an old Node can read it far enough to say that it is too old.

import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(`oriel needs Node 22.13 or newer; this is Node ${process.versions.node}.`)
  process.exitCode = 1
} else if (isInstalled('@oriel/cli')) {
  const { main } = await import('@oriel/cli')
  process.exitCode = await main(process.argv)
} else {
  runWithNpm(process.argv.slice(2))
}

function isInstalled(name) {
  try {
    createRequire(import.meta.url).resolve(`${name}/package.json`)
    return true
  } catch {
    return false
  }
}

/** Lets npm fetch the command of our own version, and ends as it ends. */
function runWithNpm(words) {
  const manifest = new URL('../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'))
  const [program, ...options] = npmCommand()
  const request = ['exec', '--yes', `--package=@oriel/cli@${version}`, '--', 'oriel-cli']
  const child = spawn(program, [...options, ...request, ...words], { stdio: 'inherit' })
  child.on('error', (error) => {
    console.error(
      `oriel could not start npm to fetch @oriel/cli (${error.message}). Install it: npm install @oriel/cli`,
    )
    process.exitCode = 1
  })
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
    // The code of npm's own failures; what it prints then (a 404, no network) does not say what to do.
    if (code === 1) {
      console.error(
        `oriel: the command is in another package. If npm could not fetch it, install it: npm install @oriel/cli@${version}`,
      )
    }
  })
}

function npmCommand() {
  const running = process.env.npm_execpath
  if (running?.endsWith('npm-cli.js')) return [process.execPath, running]
  // On Windows `npm` is a command file, which Node does not start without a shell; its program lies beside node.exe.
  if (process.platform === 'win32') {
    const program = join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js')
    return [process.execPath, program]
  }
  return ['npm']
}
