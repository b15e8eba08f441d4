// Starts `opencode serve`, asks it to compact the newest session, and prints how long that took. Run by opencode.ts in the agent's home.

import { spawn } from 'node:child_process'

interface Part {
  readonly type: string
  readonly text?: string
}
interface Message {
  readonly info: {
    readonly summary?: unknown
    readonly role: string
    readonly time: { readonly created: number; readonly completed?: number }
  }
  readonly parts: readonly Part[]
}

const program = process.argv[2] ?? 'opencode'
const child = spawn(program, ['serve', '--port', '0', '--hostname', '127.0.0.1'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  let printed = ''
  let url: string | undefined
  for await (const chunk of child.stdout) {
    printed += String(chunk)
    url = /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]
    if (url !== undefined) break
  }
  const ask = async (path: string, body?: object): Promise<unknown> => {
    const init = { method: 'POST', body: JSON.stringify(body) }
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}${path}`, body === undefined ? {} : { ...init, headers })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return response.json()
  }
  const [session] = (await ask('/session')) as { readonly id: string }[]
  const path = `/session/${session?.id}`
  const model = { providerID: 'local', modelID: 'local-model' }
  await ask(`${path}/summarize`, model)
  const messages = (await ask(`${path}/message`)) as readonly Message[]
  const made = messages.findLast(({ info }) => info.role === 'assistant' && info.summary === true)
  const { created = 0, completed = 0 } = made?.info.time ?? {}
  const text = made?.parts.map(({ text: one = '' }) => one).join('') ?? ''
  if (!text.includes('Read the first parts.')) throw new Error(`No summary: ${text.slice(0, 300)}`)
  console.log(
    `compaction ${completed - created} ms by opencode's clock, ${text.length} characters, no model call`,
  )
} finally {
  child.kill()
}
