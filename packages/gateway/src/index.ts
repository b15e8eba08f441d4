// The public surface of the gateway.

export { createGateway, type Gateway, type GatewayOptions } from './gateway.ts'
