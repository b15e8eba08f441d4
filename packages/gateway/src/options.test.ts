import { expect, it } from 'vitest'
import { createGateway, serveGateway } from './index.ts'

it('[OP1] createGateway and serveGateway reject options that they do not know', async () => {
  expect(() => createGateway({ upstrems: {} } as object)).toThrow("Did you mean 'upstreams'?")
  const gateway = createGateway()
  const started = serveGateway(gateway, { prot: 0 } as object)
  await expect(started).rejects.toMatchObject({ code: 'invalid-option', path: 'prot' })
  await gateway.close()
})
