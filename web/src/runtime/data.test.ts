import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agentText, breakerText, messageText, namesOf, nextSteps, runningText, serviceText } from './data.ts'

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

test('u09 an agent on queues is described in words', () => {
  const agent = { name: 'gia', agent_type: 'ai', capabilities: [], placement: 'hosted', concurrency: 16, available: true, availability: 'available', available_until: null, load: 0 } as const
  assert.equal(agentText({ ...agent, capabilities: [] }), 'AI agent, starts when a message comes · nothing waits for it · up to 16 at once')
  assert.equal(agentText({ ...agent, capabilities: [], agent_type: 'human', concurrency: 1, load: 2 }), 'person · 2 messages in work or waiting · one at a time')
  const bus = { condition: 'healthy', coverage: [], agents: [], awake: 0, in_process: false, away: [], queues: [], dead_letters: 0 }
  assert.equal(runningText(bus), 'No agent has work at the moment; each starts when a message comes.')
  assert.equal(runningText({ ...bus, awake: 2, in_process: true }), '2 agents are in memory. There is no broker: messages are kept by this server.')
  assert.deepEqual(nextSteps('assigned').map((one) => one.status), ['in_progress'])
  assert.deepEqual(nextSteps('complete'), [])
  assert.deepEqual(namesOf(' review, decide,, '), ['review', 'decide'])
})
