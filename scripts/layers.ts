// Imports point one way. Resolves every import of the packages to the file it means, at any depth, and reports those that the table
// below does not allow: `npm run layers`, a part of `npm run lint`.

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

interface Layer {
  /** A folder, or a file, of the repository. The longest one that a file stands in is its layer. */
  readonly path: string
  /** Paths of the repository that it may import, besides its own. */
  readonly imports: readonly string[]
  /** Paths below those that it may not import. */
  readonly except?: readonly string[]
  /** Packages that it may import; absent means any but our own. */
  readonly packages?: RegExp
}

const source = 'packages/oriel/src'
const leaves = ['core', 'rules', 'schedule', 'policy', 'providers', 'stores'].map(
  (name) => `${source}/${name}`,
)
/** What `project` and its neighbours are made of; never what stands on them. */
const upper = [
  'thread',
  'inspect',
  'internal',
  'simulate',
  'integrations',
  'testing',
  'index.ts',
].map((name) => `${source}/${name}`)
const thirdParty = /^(?!oriel(\/|$)|@oriel\/)/
/** Neither our own packages by name nor modules of Node: pure code, for browsers too. */
const pure = /^(?!oriel(\/|$)|@oriel\/|node:)/

export const layers: readonly Layer[] = [
  { path: `${source}/core`, imports: [], packages: /^$/ },
  { path: `${source}/rules`, imports: [`${source}/core`], packages: pure },
  { path: `${source}/schedule`, imports: [`${source}/core`], packages: thirdParty },
  {
    path: `${source}/policy`,
    imports: [
      `${source}/core`,
      `${source}/rules`,
      `${source}/schedule`,
      `${source}/stores/agent-settings.ts`,
    ],
    packages: pure,
  },
  // Pages use them too.
  { path: `${source}/providers`, imports: [`${source}/core`], packages: /^$/ },
  { path: `${source}/stores`, imports: [`${source}/core`], packages: thirdParty },
  { path: source, imports: leaves, except: upper, packages: thirdParty },
  {
    path: `${source}/thread`,
    imports: [source],
    except: upper.filter((path) => path !== `${source}/thread`),
    packages: thirdParty,
  },
  {
    path: `${source}/inspect`,
    imports: [source],
    except: ['simulate', 'integrations', 'testing', 'index.ts'].map((name) => `${source}/${name}`),
    packages: thirdParty,
  },
  // What the gateway knows beside what is promised.
  { path: `${source}/internal`, imports: [`${source}/core`, `${source}/thread`], packages: /^$/ },
  {
    path: `${source}/simulate`,
    imports: [source],
    except: [`${source}/integrations`, `${source}/testing`, `${source}/index.ts`],
    packages: thirdParty,
  },
  {
    path: `${source}/integrations`,
    imports: [source],
    except: [`${source}/simulate`, `${source}/testing`, `${source}/index.ts`],
    packages: thirdParty,
  },
  {
    path: `${source}/index.ts`,
    imports: [source],
    except: [`${source}/testing`],
    packages: thirdParty,
  },
  { path: `${source}/testing`, imports: [source], packages: /^(?!@oriel\/)/ },
  { path: 'packages/gateway', imports: [], packages: /^(?!@oriel\/cli|oriel\/(src|dist)\/)/ },
  { path: 'packages/cli', imports: [], packages: /^(?!oriel\/(src|dist)\/)/ },
  // What users may use, and nothing of the gateway. OpenClaw's messages are those of pi.
  {
    path: 'packages/plugins',
    imports: [],
    packages: /^(?!oriel\/(?!agents$)|@oriel\/(?!pi\/messages$))/,
  },
  // The page is built for browsers. It knows the gateway by the types in contract.ts, and how an answer streams.
  {
    path: 'packages/studio/src',
    imports: [],
    packages: /^(?!oriel$|oriel\/(?!providers)|@oriel\/|node:)/,
  },
  {
    path: 'packages/studio/src/contract.ts',
    imports: ['packages/studio/src'],
    packages: /^(?!node:)/,
  },
  { path: 'examples', imports: [], packages: /^(?!@oriel\/cli)/ },
]

export interface Violation {
  readonly file: string
  readonly line: number
  readonly specifier: string
}

/** The imports of a file that its layer may not make. Tests may import everything of their own package. */
export function violationsIn(file: string, text: string): readonly Violation[] {
  const layer = layerOf(file)
  if (layer === undefined) return []
  return importsOf(text)
    .filter(({ specifier }) => !isAllowed(layer, file, specifier))
    .map((found) => ({ file, ...found }))
}

/** The layer that a file of the repository stands in. */
export function layerOf(file: string): Layer | undefined {
  const found = layers.filter(({ path }) => isIn(path, file))
  return found.sort((one, other) => other.path.length - one.path.length)[0]
}

function isAllowed(layer: Layer, file: string, specifier: string): boolean {
  if (!specifier.startsWith('.')) return (layer.packages ?? thirdParty).test(specifier)
  const target = normalize(join(dirname(file), specifier))
  // `../core/../thread/thread.ts` is written to be misread.
  if (/[^./]\/\.\.\//.test(specifier) || specifier.startsWith('./../')) return false
  const except = layer.except ?? []
  if (isIn(layer.path, target) && !except.some((path) => isIn(path, target))) return true
  return (
    layer.imports.some((path) => isIn(path, target)) && !except.some((path) => isIn(path, target))
  )
}

function isIn(path: string, file: string): boolean {
  return file === path || file.startsWith(`${path}/`)
}

/** Every way to name a module: `import ... from`, `export ... from`, `import '...'`, `import('...')` as a value and as a type. */
function importsOf(text: string): readonly { readonly line: number; readonly specifier: string }[] {
  const pattern =
    /(?:^(?:import|export)\b[^'"]*?\bfrom\s*|^import\s*|\bimport\(\s*)(['"])([^'"\n]+)\1/gm
  return [...text.matchAll(pattern)].map((match) => ({
    line: text.slice(0, match.index + match[0].length).split('\n').length,
    specifier: match[2] as string,
  }))
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '..')
  const files = globSync(
    ['packages/{oriel,gateway,cli,studio}/src/**/*.{ts,tsx}', 'examples/**/*.ts'],
    {
      cwd: root,
      exclude: (name) => name.endsWith('.test.ts') || name.includes('node_modules'),
    },
  )
  const found = files.flatMap((file) => violationsIn(file, readFileSync(join(root, file), 'utf8')))
  for (const { file, line, specifier } of found) {
    process.stdout.write(`${file}:${line} may not import ${specifier}; see scripts/layers.ts\n`)
  }
  process.stdout.write(`${files.length} files, ${found.length} forbidden imports\n`)
  if (found.length > 0 || files.length === 0) process.exitCode = 1
}
