import { expect, it } from 'vitest'
import { formatPercent, formatTokens } from './numbers.ts'

it.each([
  [0, '0%'],
  [0.001, '<1%'],
  [0.005, '1%'],
  [0.994, '99%'],
  [0.999, '>99%'],
  [1, '100%'],
  [1.2, '120%'],
])('[ST14] a share of %d is %s: never 0%% of something or 100%% of a part', (share, text) => {
  expect(formatPercent(share)).toBe(text)
})

it.each([
  [0, '0'],
  [999, '999'],
  [999.7, '1k'],
  [1234, '1.2k'],
  [99_960, '100k'],
  [999_499, '999k'],
  [999_600, '1M'],
  [1_450_000, '1.4M'],
])('[ST14] %d tokens are %s', (tokens, text) => {
  expect(formatTokens(tokens)).toBe(text)
})
