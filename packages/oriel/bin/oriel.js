#!/usr/bin/env node
// The `oriel` command hands over to @oriel/cli, so that people who want only the library do not install the rest.
// Written so that an old Node can read it far enough to say that it is too old.

import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `The command oriel needs Node 22.13 or newer; this is Node ${process.versions.node}.`,
  )
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

/** Lets npm fetch the command of our own version, and ends as it ends. npm's own report of what it cannot fetch does not say what to do. */
function runWithNpm(words) {
  const manifest = new URL('../package.json', import.meta.url)
  const { version } = JSON.parse(readFileSync(manifest, 'utf8'))
  const [program, ...options] = npmCommand()
  const npm = [...options, 'exec', '--yes', '--loglevel=silent', `--package=@oriel/cli@${version}`]
  const child = spawn(program, [...npm, '--', 'oriel-cli', ...words], { stdio: 'inherit' })
  const advice = `Install it: npm install @oriel/cli@${version}`
  child.on('error', (error) => {
    console.error(`oriel: npm cannot be started to fetch the command (${error.message}). ${advice}`)
    process.exitCode = 1
  })
  child.on('exit', (code) => {
    process.exitCode = code ?? 1
    // 1 is a result of the command, and the code of npm's own failures. In the latter case the command cannot be started offline either.
    const isThere = () =>
      spawnSync(program, [...npm, '--offline', '--', 'oriel-cli', '--version'], { stdio: 'ignore' })
        .status === 0
    if (code === 1 && !isThere()) {
      console.error(
        `oriel: the command is in the package @oriel/cli, which npm could not fetch. ${advice}`,
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
