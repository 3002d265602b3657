import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf, planLines, wanted } from './plan.ts'

test('u07 forms have the addresses of files', () => {
  assert.equal(addressOf('agents/gia', 'bella'), 'agent bella/gia')
  assert.equal(addressOf('mcp-servers/shop', 'bella'), 'mcp_server bella/shop')
  assert.equal(addressOf('settings', 'bella'), 'org bella')
  assert.equal(addressOf('', 'bella'), 'org bella')
  assert.equal(addressOf('sharing', 'bella'), null)
  assert.deepEqual(wanted('settings', { close: 'archive', reopen: 'resume' }, { close: 'summarize' }, { slug: 'bella' }), {
    slug: 'bella', settings: { close: 'summarize', reopen: 'resume' },
  })
})

test('u07 a plan says what else changes, which rules are broken, and what it would have decided', () => {
  const plan = {
    changes: [
      { resource: 'agent bella/gia', action: 'change', fields: [] },
      { resource: 'channel bella/shop', action: 'change', fields: [{ path: 'agent', old: 'a', new: 'b' }] },
    ],
    violations: [{ resource: 'agent bella/gia', path: 'autonomy', message: 'an autonomous agent needs a record' }],
    what_if: { days: 7, calls: 12, changes: [{ org: 'bella', agent: 'enzo', tool: 'refund_payment', from: { ask: {} }, to: 'allow', calls: 3 }] },
  }
  assert.deepEqual(planLines(plan, 'agent bella/gia'), [
    'Not allowed: an autonomous agent needs a record.',
    'Changes too: channel bella/shop (agent).',
    'refund payment by enzo: ask → allow, 3 calls of the last 7 days.',
  ])
  assert.deepEqual(planLines({ changes: [], what_if: { days: 7, calls: 1, changes: [] } }, 'x'), [
    'None of the 1 tool call of the last 7 days would have been decided differently.',
  ])
})
