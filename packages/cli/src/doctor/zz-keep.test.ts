import { readFileSync, writeFileSync, appendFileSync } from 'node:fs'
import { it } from 'vitest'
import { fill, oriel, temporaryFolder, secret } from '../../test/keeping.ts'
const folder = temporaryFolder()
it('x', async () => {
  const path = folder.file('oriel.db')
  await fill(path)
  const bytes = readFileSync(path)
  let seed = 12345
  const rnd = (n: number) => { seed = (seed * 1103515245 + 12345) & 0x7fffffff; return seed % n }
  const tally: Record<string, number> = {}
  const t0 = Date.now()
  for (let run = 0; run < 400 && Date.now() - t0 < 240_000; run++) {
    const damaged = Buffer.from(bytes)
    const pages = [1, 2, 3, 4, 12, 13, 0]
    const page = pages[rnd(pages.length)]!
    const count = 1 + rnd(4)
    for (let i = 0; i < count; i++) damaged[page * 4096 + (rnd(2) ? rnd(60) : rnd(4096))] = rnd(256)
    writeFileSync(path, damaged)
    appendFileSync(process.env.KEEP_LOG!, `run ${run} page ${page} seed ${seed}\n`)
    const d = await oriel(['doctor', '--data', folder.path])
    const e = await oriel(['export', '--data', folder.path])
    const key = `doctor ${d.code} export ${e.code}`
    tally[key] = (tally[key] ?? 0) + 1
    for (const r of [d, e]) if (r.stderr.includes('bug')) console.log(page, r.stderr.slice(0, 700))
    if ((d.stdout + d.stderr + e.stderr).includes(secret)) console.log('LEAK')
    if (d.code === 0 && e.code !== 0) console.log('ODD', page, e.stderr)
  }
  console.log(tally)
}, 300_000)
