// Serves the route: `npx node examples/chat-app/server.ts`, then POST to http://127.0.0.1:3000/api/chat.

import { createServer } from 'node:http'
import { gateway } from 'ai'
import { sqliteStore } from 'oriel'
import { chatRoute } from './route.ts'
import { scriptedModel } from './scripted-model.ts'

const isReal = process.env.AI_GATEWAY_API_KEY !== undefined
const options = { store: sqliteStore('chat-app.db') }
const route = isReal
  ? chatRoute({ ...options, model: gateway('openai/gpt-5-mini') })
  : chatRoute({ ...options, model: scriptedModel() })

createServer(async (request, response) => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const body = Buffer.concat(chunks)
  const answer = await route(
    new Request(`http://${request.headers.host}${request.url}`, { method: 'POST', body }),
  )
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  for await (const chunk of answer.body ?? []) response.write(chunk)
  response.end()
}).listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000/api/chat'))
