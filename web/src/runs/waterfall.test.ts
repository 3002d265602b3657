import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bars, groupsOf, microseconds } from './waterfall.ts'

test('steps follow each other', () => {
  const steps = [{ step: '3', name: 'session', took_us: 50 }, { step: '8', name: 'model', took_us: 200 }]
  assert.deepEqual(bars(steps).map(({ start, end }) => [start, end]), [[0, 50], [50, 250]])
})

test('times have one unit', () => {
  const table: [number, string][] = [[999, '999 µs'], [1_500, '1.5 ms'], [2_345_000, '2.35 s']]
  for (const [us, expected] of table) assert.equal(microseconds(us), expected)
})

test('u04 the groups of a harness have their order', () => {
  const groups = groupsOf({ soul: 1, identity: 2, later: 3 })
  assert.deepEqual(groups.map((group) => group.name), ['Identity', 'Soul', 'later'])
})
