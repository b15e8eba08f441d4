// More calls than the gateway takes: those beyond are rejected at once and told when to come again, the others finish, and then there is
// room again.

import { afterEach, describe, expect, it, onTestFinished } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { openGateway, type Target } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { post, say } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

const kinds = spokenFormats.flatMap((format) =>
  [
    { limits: { concurrentCalls: 3 }, status: 429, whose: 'of one caller' },
    { limits: { totalCalls: 3 }, status: 503, whose: 'of all callers' },
  ].map((kind) => ({ format, ...kind })),
)

describe.each(kinds)('$format, calls $whose', ({ format, limits, status }) => {
  it.each([false, true])(
    '[GW73] are shed above the limit with a time to come again, and taken when others end (streamed: %s)',
    async (isStream) => {
      // The upstream answers nobody before everyone has asked.
      const { promise: everyone, resolve } = Promise.withResolvers<void>()
      target = await openGateway({
        // Only the number of calls counts here, not how busy the machine is.
        gateway: { limits: { ...limits, lateMs: 0 } },
        answer: async () => {
          await everyone
          return reply({ text: 'Here it is.' })
        },
      })
      const { url, upstream } = target
      onTestFinished(() => resolve())
      const accepted = Array.from({ length: 3 }, (_, index) =>
        say(url, format, `Accepted ${index}`, { isStream }),
      )
      await upstream.arrived(3)
      const headers = { authorization: 'Bearer another-key' }
      const own = status === 429 ? {} : { headers }
      const shed = await Promise.all(
        Array.from({ length: 9 }, (_, index) =>
          say(url, format, `Shed ${index}`, { isStream, ...own }),
        ),
      )
      for (const response of shed) {
        expect(response.status).toBe(status)
        expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
        expect(JSON.stringify(await response.json())).toContain('error')
      }
      expect(upstream.requests).toHaveLength(3)
      // Whoever looks after the server can still see how it is.
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
      resolve()
      for (const response of await Promise.all(accepted)) {
        expect(response.status).toBe(200)
        expect(await response.text()).toContain('Here it is.')
      }
      const again = await Promise.all(
        Array.from({ length: 3 }, (_, index) => say(url, format, `Again ${index}`, { isStream })),
      )
      expect(again.map((response) => response.status)).toEqual([200, 200, 200])
      await Promise.all(again.map((response) => response.text()))
    },
  )
})

describe.each(spokenFormats)('%s, large bodies', (format) => {
  it.each([false, true])(
    '[GW80] are turned away while others take the room, and taken when those end (of unknown length: %s)',
    async (isUnknown) => {
      const { promise: asked, resolve } = Promise.withResolvers<void>()
      target = await openGateway({
        gateway: { limits: { totalBytes: 100_000, lateMs: 0 } },
        answer: async () => {
          await asked
          return reply({ text: 'Here it is.' })
        },
      })
      const { url, upstream } = target
      onTestFinished(() => resolve())
      const dialect = dialects[format]
      const large = (name: string): Promise<Response> => {
        const text = `${name} ${'word '.repeat(12_000)}`
        const body = JSON.stringify(dialect.body([dialect.user(text)], []))
        return post(url, format, { body: isUnknown ? new Blob([body]).stream() : body })
      }
      const first = large('First')
      await upstream.arrived(1)
      const second = await large('Second')
      expect(second.status).toBe(503)
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
      // What is small still has room.
      const small = say(url, format, 'Small')
      await upstream.arrived(2)
      resolve()
      for (const response of [await first, await small]) {
        expect(await response.text()).toContain('Here it is.')
      }
      expect((await large('Third')).status).toBe(200)
    },
  )
})
