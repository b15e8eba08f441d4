// The command, from its sources, in a process of its own.

import { main } from '@oriel/cli'

process.exitCode = await main(process.argv)
