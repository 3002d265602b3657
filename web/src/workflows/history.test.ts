import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { AuditEntry, WorkflowDetail } from '../api/schema.ts'
import { historyOf } from './history.ts'

const detail = {
  workflow: { id: 'wfl_1', status: 'done', created_at: 1_000, updated_at: 9_000, reason: null },
  tasks: [
    { task: 'size', state: 'done', finished_at: 5_000, reason: null },
    { task: 'pay', state: 'failed', finished_at: 7_000, reason: 'no money' },
    { task: 'later', state: 'waiting', finished_at: null, reason: null },
  ],
} as unknown as WorkflowDetail

const entry = (at: number, action: string, subject: string, data: unknown = {}) =>
  ({ id: `${at}`, at, actor: 'ada', action, subject, data }) as AuditEntry

test('u10 the timeline has what tasks and people did, by time, and nothing of other workflows', () => {
  const audit = [
    entry(4_000, 'answer_task', 'wfl_1/size', { given: { text: 'large' } }),
    entry(4_500, 'answer_task', 'wfl_12/size'),
    entry(6_000, 'change_agent', 'agt_1'),
  ]
  assert.deepEqual(historyOf(detail, audit).map((one) => [one.text, one.detail]), [
    ['It started', null],
    ['ada answered size', 'large'],
    ['size: done', null],
    ['pay: failed', 'no money'],
    ['It ended after 8 s: done', null],
  ])
})

test('u10 each moment has a key of its own, whatever the steps are called', () => {
  const tasks = ['start', 'end'].map((task) => ({ task, state: 'done', finished_at: 5_000, reason: null }))
  const keys = historyOf({ ...detail, tasks } as unknown as WorkflowDetail, [entry(4_000, 'answer_task', 'wfl_1/end')]).map((one) => one.key)
  assert.equal(new Set(keys).size, 5)
})
