import { expect, it } from 'vitest'
import { valueAt, withPart, withValue } from './policy-value.ts'

it('[ST8] a field is set and taken away, and what the form does not know stays', () => {
  const policy = { expiry: { tools: { read: { after: 1 } } }, history: {} }
  const set = withValue(policy, 'expiry.override.after', 3)
  expect(set).toEqual({
    expiry: { tools: { read: { after: 1 } }, override: { after: 3 } },
    history: {},
  })
  expect(valueAt(set, 'expiry.override.after')).toBe(3)
  expect(valueAt(set, 'expiry.override')).toBeUndefined()
  expect(withValue(withValue({}, 'history.length', 2), 'history.length', undefined)).toEqual({
    history: {},
  })
  expect(withPart(policy, 'history', undefined)).toEqual({ expiry: policy.expiry })
  expect(withValue({}, 'schedule', 'cache-aware')).toEqual({ schedule: 'cache-aware' })
})
