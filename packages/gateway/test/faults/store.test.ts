// A store that is slow or fails while an answer comes in (RELIABILITY F7, F8): the client never holds a whole answer that was not kept.

import { OrielError } from 'oriel'
import { afterEach, describe, expect, it } from 'vitest'
import { dialects, spokenFormats } from '../dialect.ts'
import { sdkClient } from '../sdk/sdk-client.ts'
import { openGateway, type Target } from '../target.ts'
import { reply } from '../upstream/action.ts'
import { type GatedStore, gatedStore } from './gated-store.ts'
import { key, logOf, newestThread, say } from './raw-client.ts'

let target: Target | undefined
afterEach(() => target?.close())

const answer = 'The answer, word by word, to its very end.'
const kinds = spokenFormats.flatMap((format) =>
  [false, true].map((isStream) => ({ format, isStream, how: isStream ? 'streamed' : 'whole' })),
)

/** A gateway on a gated store. `onAsked` is called when a question has reached the upstream, before its answer begins. */
async function open(onAsked: (gated: GatedStore) => void): Promise<{
  readonly url: string
  readonly gated: GatedStore
}> {
  const gated = gatedStore()
  target = await openGateway({
    gateway: { store: gated.store },
    answer: () => {
      onAsked(gated)
      return reply({ text: answer })
    },
  })
  return { url: target.url, gated }
}

describe.each(kinds)('$format, $how', ({ format, isStream }) => {
  it('[GW72] holds the end of an answer back until it is kept', async () => {
    const { url, gated } = await open((one) => one.hold())
    const ask = sdkClient(format, { url, key })
    let isAnswered = false
    const asked = ask([dialects[format].user('Hello')], { isStream }).then(({ text }) => {
      isAnswered = true
      return text
    })
    await gated.waiting()
    // Other calls come and go meanwhile: an end that is not held would have arrived long ago.
    const headers = { 'x-oriel-management': 'off' }
    for (let call = 0; call < 5; call++)
      expect((await say(url, format, 'Beside it', { headers })).status).toBe(200)
    expect(isAnswered).toBe(false)
    gated.release()
    expect(await asked).toBe(answer)
    expect(JSON.stringify(await logOf(url, await newestThread(url)))).toContain(answer)
  })

  it.each(['storage-full', 'storage-failed'] as const)(
    '[GW72] cuts an answer that cannot be kept (%s), and the same question goes on afterwards',
    async (code) => {
      const full = new OrielError(code, 'No room.')
      let failing: OrielError | undefined = full
      const { url, gated } = await open((one) => one.fail(failing))
      const ask = sdkClient(format, { url, key, headers: { 'x-session-id': 'one' } })
      const history = [dialects[format].user('Is there room?')]
      await expect(ask(history, { isStream })).rejects.toThrow()
      failing = undefined
      gated.fail(undefined)
      const before = await logOf(url, await newestThread(url))
      expect(JSON.stringify(before)).not.toContain(answer)
      const again = await ask(history, { isStream })
      expect(again.text).toBe(answer)
      const next = [...history, ...again.messages, dialects[format].user('And more?')]
      expect((await ask(next, { isStream })).text).toBe(answer)
      const thread = await newestThread(url)
      const said = (await logOf(url, thread)).filter(({ type }) => type === 'message')
      expect(said.filter((one) => JSON.stringify(one).includes('Is there room?'))).toHaveLength(1)
      expect(said.filter((one) => JSON.stringify(one).includes(answer))).toHaveLength(2)
    },
  )
})
