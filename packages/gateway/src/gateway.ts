// The gateway as one function from request to response.

import { Hono } from 'hono'

export type GatewayOptions = {}

export interface Gateway {
  fetch(request: Request): Promise<Response>
}

/** An HTTP handler that manages the context of the model calls that pass through it. */
export function createGateway(_options: GatewayOptions = {}): Gateway {
  const app = new Hono()
  return { fetch: async (request) => app.fetch(request) }
}
