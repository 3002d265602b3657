import assert from 'node:assert/strict'
import { test } from 'node:test'
import { breakerText, messageText, serviceText } from './data.ts'

test('u09 breakers and queues are said in words', () => {
  assert.deepEqual(breakerText({ state: 'closed', failures: 0 }, 0), { text: 'takes work', tone: 'good' })
  assert.equal(breakerText({ state: 'open', until: 90_000 }, 30_000).text, 'stopped after failures, tries again in 1 min')
  assert.equal(breakerText({ state: 'half_open' }, 0).tone, 'warn')
  assert.equal(serviceText('stuck').tone, 'bad')
})

test('u09 the text of a message is found, if it has one', () => {
  const message = (payload: unknown) => ({ message: { id: 'env_1', type: 'ask', sent_at: 0, payload }, reference: 'OST-1' })
  assert.equal(messageText(message('May we?')), 'May we?')
  assert.equal(messageText(message({ description: 'Check it' })), 'Check it')
  assert.equal(messageText(message({ n: 1 })), null)
})
