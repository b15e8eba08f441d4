import { describe, expect, it } from 'vitest'
import { createGateway, serveGateway } from './index.ts'

it('[OP1] createGateway and serveGateway reject options that they do not know', async () => {
  expect(() => createGateway({ upstrems: {} } as object)).toThrow("Did you mean 'upstreams'?")
  const gateway = createGateway()
  const started = serveGateway(gateway, { prot: 0 } as object)
  await expect(started).rejects.toMatchObject({ code: 'invalid-option', path: 'prot' })
  await gateway.close()
})

const upstream = { name: 'a', baseUrl: 'http://127.0.0.1:9' }

describe('options of createGateway', () => {
  it.each<[object, string]>([
    [{ upstreams: [{ ...upstream, modles: [] }] }, 'upstreams[0].modles'],
    [{ upstreams: [{ ...upstream, policy: {} }] }, 'upstreams[0].policy'],
    [{ upstreams: upstream }, 'upstreams'],
    [
      { keys: [{ name: 'a', key: 'k'.repeat(20), requestOverrides: 'allow' }] },
      'keys[0].requestOverrides',
    ],
    [{ limits: { bodybytes: 5 } }, 'limits.bodybytes'],
    [{ limits: { bodyBytes: '5' } }, 'limits.bodyBytes'],
    [{ summarizer: { upstream: 'a', model: 'm', timeout: 5 } }, 'summarizer.timeout'],
    [{ prompts: { p: { name: 'p', template: 't', modles: [] } } }, 'prompts.p.modles'],
    [
      { agents: { a: { chatSettings: { historyLenght: 5 } } } },
      'agents.a.chatSettings.historyLenght',
    ],
    [{ agents: { a: { chatSetings: {} } } }, 'agents.a.chatSetings'],
    [{ agents: { a: { historyLenght: 5 } } }, 'agents.a.historyLenght'],
    [{ agents: { a: { expnd: true } } }, 'agents.a.expnd'],
    [{ agents: { a: { history: { length: 5 } } } }, 'agents.a.history'],
    [{ agents: { a: { historyPolicy: 'all' } } }, 'agents.a.historyPolicy'],
    [{ agents: { a: { preset: 'recommended' } } }, 'agents.a.preset'],
    [{ agents: { a: { expand: 'always' } } }, 'agents.a.expand'],
    [{ expand: 'always' }, 'expand'],
    [{ management: 'off' }, 'management'],
    [{ logFormat: 'xml' }, 'logFormat'],
    [{ hosts: 'example.com' }, 'hosts'],
    [{ origins: [5] }, 'origins[0]'],
    [{ studio: 5 }, 'studio'],
    [{ history: { length: 5 } }, 'history'],
    [{ port: 4141 }, 'port'],
    [{ data: './data' }, 'data'],
    [{ ceilings: { length: 5 } }, 'ceilings.length'],
    [{ onInvalid: { url: 'ignore' } }, 'onInvalid.url'],
  ])('[OP1] %j is refused with its path', (options, path) => {
    expect(() => createGateway(options)).toThrow(
      expect.objectContaining({ code: 'invalid-option', path }),
    )
  })

  it("[OP1] fields of the application's own in a template are left alone", async () => {
    const agents = { a: { system: 'You help.', tools: 'demo', maxTokens: 5, color: 'red' } }
    await createGateway({ agents }).close()
  })
})
