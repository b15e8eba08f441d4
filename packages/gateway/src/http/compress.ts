// Compression of the gateway's own responses: the studio's files and the JSON of the API. Model calls and event streams pass as they are.

import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'

const gzipped = promisify(gzip)

/** Shorter bodies gain nothing. */
const leastBytes = 1024
const kinds = /^(?:application\/json|text\/(?:html|css|javascript)|image\/svg\+xml)\b/

/** The response in gzip, where the client takes it and it pays; else as it is. */
export async function compressed(request: Request, response: Response): Promise<Response> {
  const { headers, status, body } = response
  const isFit =
    body !== null &&
    kinds.test(headers.get('content-type') ?? '') &&
    !headers.has('content-encoding') &&
    /\bgzip\b(?!;\s*q=0(?:\.0*)?(?:,|$))/.test(request.headers.get('accept-encoding') ?? '')
  if (!isFit) return response
  const bytes = new Uint8Array(await response.arrayBuffer())
  const own = new Headers(headers)
  own.append('vary', 'accept-encoding')
  if (bytes.byteLength < leastBytes) return new Response(bytes, { status, headers: own })
  const small = await gzipped(bytes, { level: constants.Z_BEST_SPEED + 4 })
  own.set('content-encoding', 'gzip')
  return new Response(new Uint8Array(small), { status, headers: own })
}
