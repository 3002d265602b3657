import assert from 'node:assert/strict'
import { test } from 'node:test'
import { duration } from './time.ts'

test('durations have one unit', () => {
  const table: [number, string][] = [
    [-5, '0 s'],
    [59_999, '59 s'],
    [60_000, '1 min'],
    [3_599_999, '59 min'],
    [3_600_000, '1 h'],
    [86_400_000, '1 d'],
    [864_000_000, '10 d'],
  ]
  for (const [ms, expected] of table) assert.equal(duration(ms), expected)
})
