import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResourcePlan } from '../api/schema.ts'
import { addressOf, consequencesOf, existsAlready, wanted } from './plan.ts'

const run = { session: 'ses_1', run: 'run_1', at: 0 }

test('u07 forms have the addresses of files', () => {
  assert.equal(addressOf('agents/gia', 'bella'), 'agent bella/gia')
  assert.equal(addressOf('agents', 'bella', 'sofia'), 'agent bella/sofia')
  assert.equal(addressOf('mcp-servers/shop', 'bella'), 'mcp_server bella/shop')
  assert.equal(addressOf('settings', 'bella'), 'org bella')
  assert.equal(addressOf('', 'bella'), 'org bella')
  assert.equal(addressOf('agents', 'bella', ''), null)
  assert.deepEqual(wanted('settings', { close: 'archive' }, { slug: 'bella' }), { slug: 'bella', settings: { close: 'archive' } })
  assert.deepEqual(wanted('agents/gia', { name: 'Gia' }, null), { name: 'Gia' })
})

test('u07 a plan says what else changes, which rules are broken, and what it would have decided', () => {
  const plan: ResourcePlan = {
    changes: [
      { resource: 'agent bella/gia', action: 'change', fields: [] },
      { resource: 'channel bella/shop', action: 'change', fields: [{ path: 'agent', old: 'a', new: 'b' }] },
    ],
    drift: [],
    notes: ['the secret of channel shop cannot be read'],
    violations: [{ resource: 'agent bella/gia', path: 'autonomy', message: 'an autonomous agent needs a record' }],
    what_if: {
      days: 7, calls: 12, truncated: false,
      changes: [{ org: 'bella', agent: 'enzo', tool: 'refund_payment', from: { decision: 'ask' }, to: { decision: 'allow' }, calls: 3, example: run }],
    },
    version: '1',
  }
  assert.deepEqual(consequencesOf(plan, 'agent bella/gia'), {
    broken: ['An autonomous agent needs a record.'],
    others: ['Changes too: channel bella/shop (agent).', 'The secret of channel shop cannot be read.'],
    calls: [{ text: '3 calls of refund payment by enzo: asks a person first now, runs at once then', session: 'ses_1' }],
    looked: 'Of the 12 tool calls of the last 7 days, these would have been decided differently:',
  })
  const none = { ...plan, changes: [], notes: [], violations: [], what_if: { days: 7, calls: 1, truncated: false, changes: [] } }
  assert.equal(consequencesOf(none, 'x').looked, 'None of the 1 tool call of the last 7 days would have been decided differently.')
  assert.equal(consequencesOf({ ...none, what_if: null }, 'x').looked, '')
  assert.ok(existsAlready({ ...plan, violations: [] }, 'agent bella/gia'))
  assert.ok(!existsAlready({ ...none, changes: [{ resource: 'agent bella/new', action: 'create', fields: [] }] }, 'agent bella/new'))
})
