import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Escalation, ListedSession } from '../api/types.ts'
import { compare, holderOf, matches, peerName } from './holder.ts'

const session = (change: Partial<ListedSession>): ListedSession => ({
  id: 'ses_1', org: 'org_1', conversation: 'cnv_1', channel: 'webchat', binding: 'bnd_1',
  peer: { person: 'rosa' }, name: null, contact: null, status: 'active', closed: null, agent: 'agt_1',
  opened_at: 0, messages: 1, pending_approvals: 0, unknown_outcomes: 0, escalation: null, summary: null,
  assignee: null, notes: 0, unread: 0,
  ...change,
})

const escalation = (change: Partial<Escalation>): Escalation => ({
  id: 'esc_1', status: 'pending', urgency: 'normal', reason: 'asked for a person', context_summary: '',
  requested_at: 5, taken_over_by: null, taken_over_at: null, ...change,
})

const waiting = (urgency: Escalation['urgency'], requested_at: number, id: string) =>
  session({ id, status: 'handed_off', escalation: escalation({ urgency, requested_at }) })

test('u02 the holder is the agent, nobody yet, a person, or nobody any more', () => {
  assert.deepEqual(holderOf(session({})), { kind: 'agent', agent: 'agt_1' })
  assert.equal(holderOf(waiting('high', 5, 'a')).kind, 'waiting')
  const held = session({
    status: 'handed_off',
    escalation: escalation({ status: 'taken_over', taken_over_by: 'usr_1', taken_over_at: 9 }),
  })
  assert.deepEqual(holderOf(held), { kind: 'person', user: 'usr_1', since: 9 })
  assert.equal(matches(held, 'mine', 'usr_1'), true)
  assert.equal(matches(held, 'mine', 'usr_2'), false)
  assert.equal(matches({ ...held, assignee: 'usr_2' }, 'mine', 'usr_2'), true, 'who looks after it')
  assert.equal(matches({ ...held, unread: 2 }, 'unread', 'usr_2'), true)
  assert.equal(holderOf(session({ status: 'closed' })).kind, 'closed')
})

test('u02 g38 the urgent come first, then those who have waited longest', () => {
  const sessions = [
    session({ id: 'quiet', opened_at: 99 }),
    waiting('normal', 2, 'normal-late'),
    session({ id: 'decision', pending_approvals: 1 }),
    waiting('normal', 1, 'normal-early'),
    waiting('high', 3, 'high'),
  ]
  const order = sessions.sort(compare).map((one) => one.id)
  assert.deepEqual(order, ['high', 'normal-early', 'normal-late', 'decision', 'quiet'])
})

test('visitors without a name get a short one', () => {
  assert.equal(peerName(session({ peer: { person: '0123456789abcdef0123456789abcdef' } })), 'Visitor cdef')
  assert.equal(peerName(session({ name: 'Rosa' })), 'Rosa')
})
