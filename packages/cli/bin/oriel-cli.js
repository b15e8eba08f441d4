#!/usr/bin/env node
// Starts the command. Written so that an old Node can read it far enough to say that it is too old.

const [major, minor] = process.versions.node.split('.').map(Number)
if (major < 22 || (major === 22 && minor < 13)) {
  console.error(
    `The command oriel needs Node 22.13 or newer; this is Node ${process.versions.node}.`,
  )
  process.exitCode = 1
} else {
  const { main } = await import('../dist/index.js')
  process.exitCode = await main(process.argv)
}
