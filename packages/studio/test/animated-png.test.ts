import { crc32 } from 'node:zlib'
import { expect, it } from 'vitest'
import { animatedPng, chunksOf } from './animated-png.ts'
import { launchChromium } from './chromium.ts'
import { soon } from './studio.ts'

it('a tour shows each of its pictures in turn', async () => {
  const browser = await launchChromium()
  try {
    const page = await browser.newPage({ viewport: { width: 40, height: 30 } })
    const stills: Buffer[] = []
    for (const color of ['red', 'lime', 'blue']) {
      await page.setContent(`<body style="background:${color}">`)
      stills.push(await page.screenshot())
    }
    const tour = animatedPng(stills, { delayMs: 100 })
    const types = chunksOf(tour).map(({ type }) => type)
    expect(types.filter((type) => type === 'fcTL')).toHaveLength(3)
    for (const { type, data } of chunksOf(tour)) {
      const at = tour.indexOf(data, 0) + data.length
      const sum = crc32(Buffer.concat([Buffer.from(type), data]))
      if (data.length > 0) expect(tour.readUInt32BE(at)).toBe(sum)
    }
    await page.setContent(
      `<body style="margin:0"><img alt="" src="data:image/png;base64,${tour.toString('base64')}">`,
    )
    for (const still of stills) {
      await soon(async () => still.equals(await page.screenshot())).toBe(true)
    }
    const [first = Buffer.alloc(0)] = stills
    await page.setViewportSize({ width: 50, height: 30 })
    const wide = await page.screenshot()
    expect(() => animatedPng([first, wide], { delayMs: 1 })).toThrow('one kind')
  } finally {
    await browser.close()
  }
})
