// The description of the API, made from the table of routes: what is not there is not here.

import { z } from 'zod'
import type { Route } from './router.ts'

export function describeApi(routes: readonly Route[], version: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const route of routes) {
    if (route.path.endsWith('*')) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const methods = route.method === 'ALL' ? ['get', 'post'] : [route.method.toLowerCase()]
    for (const method of methods) paths[path] = { ...paths[path], [method]: operationOf(route) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Oriel gateway',
      version,
      description: 'Model endpoints with context management, and the threads behind them.',
    },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    paths,
  }
}

function operationOf({ path, summary, query = {}, body, answer, access, isCall }: Route): object {
  const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }))
  const inQuery = Object.entries(query).map(([name, description]) => ({
    name,
    in: 'query',
    description,
    schema: { type: 'string' },
  }))
  const schema =
    body === undefined ? { type: 'object' } : z.toJSONSchema(body, { unrepresentable: 'any' })
  const hasBody = body !== undefined || isCall === true
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    ...(hasBody
      ? { requestBody: { required: true, content: { 'application/json': { schema } } } }
      : {}),
    responses: {
      200: { description: answer ?? 'As the upstream answers.' },
      default: { description: 'A refusal, in the shape of the API that the path belongs to.' },
    },
    security: access === 'open' ? [] : [{ key: [] }],
  }
}
