// Static files of the studio, loaded into memory at startup, so that a request path never reaches
// the file system.

import { readdirSync, readFileSync, statSync } from 'node:fs'
import { extname, join, relative, sep } from 'node:path'
import { OrielError } from 'oriel'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
}

const pageHeaders: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

interface File {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly type: string
}

export interface StaticFiles {
  /** The single-page app, for any route. */
  page(): Response
  /** A file by path; undefined if it does not exist. */
  file(path: string): Response | undefined
}

export function readStatic(folder: string | undefined): StaticFiles {
  const files = folder === undefined ? new Map<string, File>() : readFolder(folder)
  const answer = (path: string): Response | undefined => {
    const file = files.get(path)
    if (file === undefined) return undefined
    // File names with a content hash are immutable.
    const isFixed = /[.-][\w-]{8,}\.\w+$/.test(path) && path.startsWith('/assets/')
    return new Response(file.bytes, {
      headers: {
        ...pageHeaders,
        'content-type': file.type,
        'cache-control': isFixed ? 'public, max-age=31536000, immutable' : 'no-cache',
      },
    })
  }
  return { page: () => answer('/index.html') ?? plainPage(), file: answer }
}

function readFolder(folder: string): ReadonlyMap<string, File> {
  try {
    return new Map(
      readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((one) => one.isFile())
        .map((one) => {
          const path = join(one.parentPath, one.name)
          const name = `/${relative(folder, path).split(sep).join('/')}`
          const type = types[extname(path)] ?? 'application/octet-stream'
          return [name, { bytes: new Uint8Array(readFileSync(path)), type }] as const
        }),
    )
  } catch (cause) {
    const isThere = statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true
    const problem = isThere ? 'cannot be read' : 'is no folder'
    throw new OrielError('invalid-option', `The studio's folder ${problem}.`, {
      path: 'studio',
      cause,
    })
  }
}

/** Shown at `/` if the studio is not built. */
function plainPage(): Response {
  const text =
    '<!doctype html><meta charset="utf-8"><title>Oriel</title><p>The gateway is running. Point base_url at /v1; the thread API is described at /api/openapi.json.</p>'
  return new Response(text, {
    headers: { ...pageHeaders, 'content-type': 'text/html; charset=utf-8' },
  })
}
