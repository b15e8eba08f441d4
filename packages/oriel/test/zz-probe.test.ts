import { it } from 'vitest'
import { openThread } from '../src/thread/thread.ts'
import { memoryStore } from '../src/stores/memory.ts'
import { project } from '../src/project.ts'
const u = (t: string) => ({ role: 'user', content: t })
const now = () => 1000
it('probe', async () => {
  const out = (...x: unknown[]) => console.log(...x.map((v) => JSON.stringify(v)))
  {
    const A = await openThread({ id: 't', store: memoryStore(), now })
    const h = [u('1'), { role: 'system', content: 'sys' }, u('4'), u('5')]
    await A.append(h)
    out((await A.view({ policy: { history: { length: 0 } } })).messages)
    out(project(h, { history: { length: 0 } }).messages)
    const B = await openThread({ id: 't', store: memoryStore(), now })
    await B.sync(h)
    out((await B.view({ policy: { history: { length: 0 } } })).messages)
    const C = await openThread({ id: 't', store: memoryStore(), now })
    await C.sync([{ role: 'system', content: 'Ann' }, ...h])
    out((await C.view({ policy: { history: { length: 0 } } })).messages)
    const D = await openThread({ id: 't', store: memoryStore(), now })
    await D.append([{ role: 'system', content: 'Old' }, ...h]); await D.sync([{ role: 'system', content: 'Ann' }, ...h, u('6')])
    out((await D.view({ dryRun: true })).messages)
    await D.exclude((await D.log())[2]!.id)
    out((await D.view({ dryRun: true })).messages)
  }
})
