import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Delta } from '../api/types.ts'
import { applyDelta, type Draft } from './drafts.ts'

const delta = (change: Partial<Delta>): Delta => ({
  session: 's', run: 'r', agent: 'a', attempt: 0, delta: 'text', offset: 0, text: '', ...change,
})

const fold = (deltas: Delta[]) => deltas.reduce<Draft | null>(applyDelta, null)

test('text is appended once, by its offset in bytes', () => {
  const first = delta({ text: 'Grüße' })
  const second = delta({ offset: 7, text: ', Rosa' })
  assert.equal(fold([first, second])?.text, 'Grüße, Rosa')
  assert.equal(fold([first, first, second, second])?.text, 'Grüße, Rosa')
})

test('a discarded draft starts over, and a committed one is gone', () => {
  const again = [delta({ text: 'no' }), delta({ delta: 'draft_discarded', attempt: 1 }), delta({ attempt: 1, text: 'yes' })]
  assert.equal(fold(again)?.text, 'yes')
  assert.equal(fold([...again, delta({ delta: 'over' })]), null)
  assert.equal(fold([delta({ delta: 'calling', tool: 'get_order' })])?.calling, 'get_order')
})
