// A release is refused where its parts do not agree; the dry run packs what would be published.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import {
  inOrder,
  type Manifest,
  openPointsOf,
  problemsOf,
  publishCommand,
  type Sources,
  tarballProblems,
} from './release.ts'

const library: Manifest = {
  name: 'oriel',
  version: '1.2.0',
  license: 'MIT',
  repository: 'github:somebody/oriel',
  exports: { '.': { types: './dist/index.d.ts', default: './dist/index.js' } },
  bin: { oriel: './bin/oriel.js' },
}
const gateway: Manifest = {
  ...library,
  name: 'gateway',
  dependencies: { oriel: '1.2.0', hono: '4.0.0' },
}
const page: Manifest = { ...library, name: 'page', private: true }
const good: Sources = {
  manifests: [gateway, library, page],
  changelog: '# Changelog\n\n## 1.2.0 (2026-11-18)\n\n- Better.\n\n### Upgrading\n\nNothing.\n',
  locked: { oriel: '1.2.0', gateway: '1.2.0', page: '1.2.0' },
}
const packed = (...paths: readonly string[]) => ({
  name: 'oriel',
  version: '1.2.0',
  filename: 'oriel-1.2.0.tgz',
  size: 1,
  unpackedSize: 1,
  files: paths.map((path) => ({ path })),
})
const files = ['package.json', 'LICENSE', 'README.md', 'dist/index.d.ts', 'dist/index.js']

describe('a release', () => {
  it('whose parts agree has no problems', () => {
    expect([...problemsOf(good), ...openPointsOf(good)]).toEqual([])
  })

  it.each<[string, Partial<Sources>, RegExp]>([
    [
      'a package with another version',
      {
        manifests: [library, { ...page, version: '1.1.0' }],
        locked: { oriel: '1.2.0', page: '1.1.0' },
      },
      /^page has version 1\.1\.0, oriel has 1\.2\.0/,
    ],
    [
      'a dependency on another version of ours',
      { manifests: [library, { ...gateway, dependencies: { oriel: '1.1.0' } }] },
      /^gateway wants oriel 1\.1\.0/,
    ],
    ['an old lock file', { locked: { ...good.locked, gateway: '1.1.0' } }, /package-lock\.json/],
    ['no licence', { manifests: [{ name: 'oriel', version: '1.2.0' }] }, /licence/],
    ['no notes', { changelog: '## 1.20.0\n\n### Upgrading\n' }, /no section for 1\.2\.0/],
    ['notes without upgrading', { changelog: '## 1.2.0 (2026-11-18)\n' }, /Upgrading/],
    [
      'upgrading under another version alone',
      { changelog: '## 1.2.0\n\n- Better.\n\n## 1.1.0\n\n### Upgrading\n' },
      /Upgrading/,
    ],
  ])('with %s is refused', (_, change, problem) => {
    const problems = problemsOf({ ...good, ...change })
    expect(problems).toEqual([expect.stringMatching(problem)])
  })

  it.each<[string, Partial<Sources>, RegExp]>([
    ['a date', { changelog: '## 1.2.0 (unreleased)\n\n### Upgrading\n' }, /the date/],
    [
      'a repository',
      { manifests: [{ name: 'oriel', version: '1.2.0', license: 'MIT' }] },
      /"repository" .* oriel:/,
    ],
  ])('still needs %s', (_, change, point) => {
    expect(openPointsOf({ ...good, ...change })).toEqual([expect.stringMatching(point)])
  })

  it('publishes a package after those that it depends on, and no private one', () => {
    expect(inOrder(good.manifests).map(({ name }) => name)).toEqual(['oriel', 'gateway'])
  })

  it('refuses packages that depend on each other', () => {
    const circle = [{ ...library, dependencies: { gateway: '1.2.0' } }, gateway]
    expect(() => inOrder(circle)).toThrow(/circle/)
  })

  it('has provenance', () => {
    expect(publishCommand('oriel-1.2.0.tgz')).toContain('--provenance')
  })
})

describe('a tarball', () => {
  it('has what its manifest names', () => {
    expect(tarballProblems(packed(...files, 'bin/oriel.js'), library)).toEqual([])
    expect(tarballProblems(packed(...files), library)).toEqual([
      expect.stringMatching(/bin\/oriel\.js is not/),
    ])
  })

  it.each(['dist/a.test.js', 'dist/.tsbuildinfo', 'test/data.json', '.env'])(
    'does not have %s',
    (path) => {
      const problems = tarballProblems(packed(...files, 'bin/oriel.js', path), library)
      expect(problems).toEqual([`oriel: ${path} does not belong into the tarball.`])
    },
  )
})

describe('npm run release -- --dry-run', () => {
  it('packs every published package, lists its files and publishes nothing', async () => {
    const script = join(import.meta.dirname, 'release.ts')
    const { stdout } = await promisify(execFile)(process.execPath, [script, '--dry-run'])
    for (const name of ['oriel', '@oriel/gateway', '@oriel/cli', '@oriel/pi'])
      expect(stdout).toMatch(new RegExp(`^packed +${name} \\d.*package\\.json`, 'm'))
    expect(stdout).not.toMatch(/^problem/m)
    expect(stdout.match(/^would +npm publish oriel-\S+\.tgz --provenance/gm)).not.toBeNull()
  })
})
