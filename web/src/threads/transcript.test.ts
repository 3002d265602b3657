import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ThreadEvent } from './events.ts'
import { applyEvent, newTranscript } from './transcript.ts'

let id = 0
const event = (body: object, ext: object = {}) => ({ ...body, ext: { at: 1, turnId: 'run_1', ...ext } }) as ThreadEvent
const stored = (body: object, ext: object = {}) => event(body, { id: ++id, ...ext })
const message = (role: string, text: string, seq: number) => {
  return { id: `run_1-${seq}`, role, content: [{ type: 'text', text }], createdAt: 1 }
}
const fold = (events: ThreadEvent[]) => {
  const transcript = newTranscript()
  for (const one of events) applyEvent(transcript, one)
  return transcript
}

test('u15 streamed text becomes the stored message, once', () => {
  const events = [
    stored({ type: 'agent_start' }),
    stored({ type: 'message_end', message: message('user', 'hi', 1) }),
    event({ type: 'message_update', message: message('assistant', 'Hel', 2) }, { delta: 'Hel' }),
    event({ type: 'message_update', message: message('assistant', 'Hello', 2) }, { delta: 'lo' }),
    stored({ type: 'message_end', message: message('assistant', 'Hello!', 2) }),
    stored({ type: 'agent_end', reason: 'complete' }),
  ]
  const expected = [
    { kind: 'user', text: 'hi', attachments: 0 },
    { kind: 'answer', message: 'run_1-2', text: 'Hello!', state: 'complete' },
  ]
  assert.deepEqual(fold(events).cells, expected)
  assert.deepEqual(fold([...events, ...events.filter((one) => one.ext.id)]).cells, expected)
  assert.equal(fold(events).activity, 'idle')
})

test('u15 a call, its question and its result are one card', () => {
  const events = [
    stored({ type: 'agent_start' }),
    stored({ type: 'tool_approval_required', toolCallId: 'c', toolName: 'refund', args: { order: 1 } }, { why: 'destructive', risk: 'destructive' }),
  ]
  const asking = fold(events)
  assert.deepEqual(asking.asks, [
    { id: 'c', kind: 'approval', tool: 'refund', args: { order: 1 }, why: 'destructive', risk: 'destructive' },
  ])
  const ended = fold([
    ...events,
    stored({ type: 'ask_closed', askId: 'c' }),
    stored({ type: 'tool_end', toolCallId: 'c', result: 'no', isError: true }, { toolName: 'refund', status: 'rejected' }),
  ])
  assert.deepEqual(ended.asks, [])
  const [cell] = ended.cells
  assert.ok(cell?.kind === 'tool' && cell.call.status === 'refused')
  assert.deepEqual(cell.call.args, { order: 1 })
})

test('u15 what a subagent does is inside its call', () => {
  const inside = { path: ['c'] }
  const { cells } = fold([
    stored({ type: 'tool_start', toolCallId: 'c', toolName: 'subagent', args: {} }),
    stored({ type: 'subagent_start', agentType: 'reader', task: 'look' }, inside),
    stored({ type: 'tool_start', toolCallId: 'd', toolName: 'read_file', args: {} }, inside),
    stored({ type: 'tool_end', toolCallId: 'd', result: 'text', isError: false }, { ...inside, toolName: 'read_file' }),
    stored({ type: 'subagent_end', agentType: 'reader', durationMs: 5 }, inside),
  ])
  const [cell] = cells
  assert.ok(cell?.kind === 'tool' && cells.length === 1)
  assert.equal(cell.call.agent?.calls[0]?.status, 'done')
  assert.equal(cell.call.agent?.durationMs, 5)
})
