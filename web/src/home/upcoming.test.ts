import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '../api/schema.ts'
import type { Approval } from '../api/types.ts'
import { failures, upcoming } from './upcoming.ts'

const workflow = (change: Partial<Workflow>) =>
  ({ id: 'wfl_1', name: 'report', status: 'running', finished_steps: 1, steps: 3, reason: null, updated_at: 7, continues_at: null, waiting_tasks: [], ...change }) as Workflow

test('u01 what runs next is listed by its time, and what waits for people is not', () => {
  const approvals = [{ id: 'apr_1', tool: 'refund_payment', expires_at: 20 }] as Approval[]
  const next = upcoming([workflow({ id: 'a', continues_at: 30 }), workflow({ id: 'b' }), workflow({ id: 'c', continues_at: 10 })], approvals)
  assert.deepEqual(next.map((one) => one.key), ['c', 'apr_1', 'a'])
})

test('u01 what failed is listed, the newest first', () => {
  const letters = [{ id: 'inb_1', reason: 'no model answered', at: 5 }]
  const unknown = [{ id: 'call_1', tool: 'send_email', at: 9 }]
  const failed = failures(letters, unknown, [workflow({ id: 'x', status: 'failed', reason: 'it broke' }), workflow({ id: 'y' })], 10)
  assert.deepEqual(failed.map((one) => one.key), ['call_1', 'x', 'inb_1'])
})

test('u01 a workflow that failed more than a day ago is no problem any more', () => {
  const day = 24 * 60 * 60_000
  const failed = [workflow({ id: 'old', status: 'failed', updated_at: 0 }), workflow({ id: 'new', status: 'failed', updated_at: 1 })]
  assert.deepEqual(failures([], [], failed, day).map((one) => one.key), ['new'])
})
