import assert from 'node:assert/strict'
import { test } from 'node:test'
import { touches } from './touches.ts'

test('u05 what a call touches is said in a few words', () => {
  const radius = { reach: 'external' as const, is_final: true, lists: [{ name: 'to', entries: 40 }], amounts: [{ name: 'total_price', amount: '10.00' }], addresses: ['shop.example', 'shop.example'] }
  assert.deepEqual(touches(radius), ['acts in another system', 'cannot be undone', '40 to', 'total price 10.00', 'shop.example'])
  assert.deepEqual(touches({ ...radius, reach: 'local', is_final: false, lists: [], amounts: [], addresses: [] }), ['changes records of this organization'])
})
