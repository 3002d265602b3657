import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { SessionEvent } from '../api/schema.ts'
import { eventText } from './events.ts'

const names = { agent: (id: string) => id.toUpperCase(), person: (id: string | null) => `person ${id}` }
const change = (more: object) => eventText({ event: 'change', at: 1, who: 'a key (…1)', action: 'take_over', ...more } as SessionEvent, names)

test('u03 what happened in a conversation is said in words', () => {
  const handoff = { event: 'handoff', at: 1, from: 'gia', to: 'enzo', reason: 'a refund', context_summary: 'order 7' } as SessionEvent
  assert.deepEqual(eventText(handoff, names), { text: 'GIA handed over to ENZO: a refund', detail: 'order 7' })
  assert.deepEqual(change({ by: 'usr_1' }), { text: 'person usr_1 took the conversation over', detail: null })
  assert.deepEqual(change({}), { text: 'a key (…1) took the conversation over', detail: null })
  const resumed = change({ by: 'usr_1', action: 'resume', reason: 'paid' })
  assert.deepEqual(resumed, { text: 'person usr_1 handed the conversation back to the agent', detail: 'What was settled: paid' })
  const rejected = change({ by: 'usr_1', action: 'reject', tool: 'refund_payment', reason: 'too old' })
  assert.deepEqual(rejected, { text: 'person usr_1 rejected refund payment', detail: 'Reason: too old' })
  assert.equal(change({ by: 'usr_1', action: 'mark_seen' }).text, 'person usr_1 mark seen')
})
