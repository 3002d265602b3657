import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Message, SessionDetail, ToolDecision } from '../api/types.ts'
import { type Entry, timeline } from './timeline.ts'

const decision = (tool: string): ToolDecision => ({
  call: tool, tool, decision: 'allow', verdict: 'read', arguments: {}, outcome: { status: 'ok', text: '' },
})

const message = (text: string, author: Message['author'], run: string): Message => ({
  at: 1_000, author, text, parts: [], purpose: 'talk', run,
})

const detail = {
  messages: [
    message('help', { role: 'customer', name: 'Rosa' }, 'run_1'),
    message('let me connect you', { role: 'agent', agent: 'gia' }, 'run_1'),
    message('here you are', { role: 'agent', agent: 'enzo' }, 'run_1'),
    message('thanks', { role: 'customer', name: 'Rosa' }, 'run_2'),
  ],
  runs: [
    {
      id: 'run_1', at: 1, outcome: 'answered', credits: 2,
      turns: [
        { agent: 'gia', business_layer: 4, decisions: [decision('tag_in_agent')] },
        { agent: 'enzo', business_layer: 3, decisions: [decision('get_order'), decision('refund')] },
      ],
    },
    { id: 'run_2', at: 2, outcome: 'credits_exhausted', credits: 0, turns: [] },
  ],
  approvals: [],
} as unknown as SessionDetail

const brief = (entry: Entry) => {
  if (entry.kind === 'message') return entry.message.text
  if (entry.kind === 'call') return `${entry.agent}:${entry.decision.tool}`
  return entry.kind === 'run_end' ? entry.run.outcome : entry.kind
}

test('u03 calls stand between the message that caused them and the answer that followed', () => {
  assert.deepEqual(timeline(detail).map(brief), [
    'day', 'help', 'gia:tag_in_agent', 'let me connect you', 'enzo:get_order', 'enzo:refund',
    'here you are', 'thanks', 'credits_exhausted',
  ])
})

test('u03 nothing is shown twice or lost when messages are missing', () => {
  const calls = timeline({ ...detail, messages: detail.messages.slice(0, 1) }).map(brief)
  assert.deepEqual(calls, ['day', 'help', 'gia:tag_in_agent', 'enzo:get_order', 'enzo:refund'])
})

test('u03 notes are among the messages by their time', () => {
  const message = (at: number) => ({ at, author: { role: 'system' as const }, text: String(at), parts: [], purpose: 'talk', run: null })
  const note = (created_at: number) => ({ id: String(created_at), author: 'usr_1', text: 'x', created_at })
  const detail = { session: {} as never, messages: [message(10), message(20)], runs: [], approvals: [] }
  const kinds = timeline(detail, [note(5), note(15), note(25)]).map((one) => one.kind)
  assert.deepEqual(kinds, ['note', 'day', 'message', 'note', 'message', 'note'])
})

test('u03 an approved call stands behind the approval', () => {
  const approved = { ...decision('refund'), verdict: 'approved by a person' }
  const event = { event: 'change', at: 900, action: 'approve_call', by: 'usr_1' }
  const done = timeline({
    messages: [message('done', { role: 'agent', agent: 'enzo' }, 'run_3')],
    runs: [{ id: 'run_3', at: 950, outcome: 'answered', credits: 1, turns: [{ agent: 'enzo', business_layer: 3, decisions: [approved] }] }],
    approvals: [],
    timeline: [event],
  } as unknown as SessionDetail)
  assert.deepEqual(done.map(brief), ['event', 'day', 'enzo:refund', 'done'])
})
