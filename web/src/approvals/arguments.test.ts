import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argumentsOf, fieldsOf } from './arguments.ts'

test('u05 arguments survive the form unchanged', () => {
  const value = { order: '1234', amount: '10.00', lines: [1, { a: true }], note: null }
  assert.deepEqual(argumentsOf(fieldsOf(value) ?? []), value)
  assert.equal(fieldsOf('text'), null)
})

test('u05 a value that is not JSON is named', () => {
  assert.throws(() => argumentsOf([{ name: 'lines', text: '[1', isText: false }]), /`lines` has to be JSON/)
})
