import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayBars } from './spend.ts'

test('u08 every day has a bar, also one without costs', () => {
  const days = [{ day: '2026-11-17', credits: 5 }, { day: '2026-11-19', credits: 10 }]
  assert.deepEqual(dayBars('2026-11-17', days, new Date('2026-11-19T09:00:00Z')), [
    { day: '2026-11-17', credits: 5, height: 50 },
    { day: '2026-11-18', credits: 0, height: 0 },
    { day: '2026-11-19', credits: 10, height: 100 },
  ])
})
