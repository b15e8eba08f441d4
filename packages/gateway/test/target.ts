// A strict upstream, and a gateway in front of it, both on loopback.

import { type AddressInfo, createServer } from 'node:net'
import { createGateway, type GatewayOptions, serveGateway } from '@oriel/gateway'
import type { ContextManagement } from '../src/options.ts'
import { startUpstream, type Upstream, type UpstreamOptions } from './upstream/upstream.ts'

export interface Target {
  /** Where clients connect: the gateway's address. */
  readonly url: string
  readonly upstream: Upstream
  close(): Promise<void>
}

export interface TargetOptions extends UpstreamOptions {
  readonly gateway?: GatewayOptions
  /** How often the gateway asks again by itself. @default never */
  readonly retries?: number
  /** Whether the gateway asks for the provider's cache. @default false */
  readonly cacheHints?: boolean
  /** Who manages the context where a client asks for it. @default 'auto' */
  readonly contextManagement?: ContextManagement
}

/** A gateway before a strict upstream. */
export async function openGateway({
  gateway: options,
  retries = 0,
  cacheHints = false,
  contextManagement = 'auto',
  ...rest
}: TargetOptions): Promise<Target> {
  const upstream = await startUpstream(rest)
  const gateway = createGateway({
    upstreams: [{ name: 'test', baseUrl: upstream.url, retries, cacheHints, contextManagement }],
    ...options,
    // A busy machine that runs many tests is late all the time.
    limits: { lateMs: 0, ...options?.limits },
  })
  const server = await serveGateway(gateway, { port: 0, host: '127.0.0.1' })
  return {
    url: server.url,
    upstream,
    async close() {
      await server.close()
      await gateway.close()
      await upstream.close()
    },
  }
}

/** The same without a gateway: what clients see when nothing stands between. */
export async function openDirect({ gateway: _gateway, ...rest }: TargetOptions): Promise<Target> {
  const upstream = await startUpstream(rest)
  return { url: upstream.url, upstream, close: () => upstream.close() }
}

/** An address on which nobody listens. */
export async function closedAddress(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}
