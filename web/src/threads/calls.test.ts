import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainOutput } from './calls.ts'

test('u15 of a line that was written over, the end stays', () => {
  assert.equal(plainOutput('10 %\r50 %\r100 %\nnext\r\n\rlast\r\r'), '100 %\nnext\nlast')
})

// A quadratic search would take minutes here.
test('u15 output of one long line is cleaned at once', () => {
  assert.equal(plainOutput('x'.repeat(1_000_000)).length, 1_000_000)
})
