// The program of the Node process that the plugin starts.

import { serve } from './host.ts'

await serve(process.stdin, (line) => process.stdout.write(line), process.env)
