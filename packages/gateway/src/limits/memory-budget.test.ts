import { expect, it } from 'vitest'
import { MemoryBudget } from './memory-budget.ts'

const busy = 'Too many large requests'

it('refuses a body for which there is no room, until another has left', () => {
  const rooms = new MemoryBudget(100)
  const [first, second] = [rooms.open(), rooms.open()]
  first.take(60)
  expect(() => second.take(41)).toThrow(busy)
  second.take(40)
  first.leave()
  expect(() => rooms.open().take(61)).toThrow(busy)
  rooms.open().take(60)
})

it('counts a body once, however often its size is told', () => {
  const rooms = new MemoryBudget(100)
  const room = rooms.open()
  for (const bytes of [10, 80, 80, 20]) room.take(bytes)
  rooms.open().take(20)
  room.leave()
  room.leave()
  rooms.open().take(80)
})

it('has room for a body that is alone, whatever its size', () => {
  const rooms = new MemoryBudget(100)
  const room = rooms.open()
  room.take(1000)
  expect(() => rooms.open().take(1)).toThrow(busy)
  room.leave()
  rooms.open().take(1000)
})
