import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stepsOf } from './steps.ts'

test('u11 a run is stepped through: prompt, calls and end of each turn', () => {
  const call = { tool: 'find_order', arguments: {}, decision: 'allow', why: 'read', outcome: 'done' }
  const recorded = { calls: [call, call], words: 'Here it is.', end: 'answered', credits: 2 }
  const steps = stepsOf([
    { agent: 'agt_1', prompt: 'You are Gia.', recorded },
    { agent: 'agt_2', prompt: 'You are Enzo.', recorded: { ...recorded, calls: [] } },
  ])
  assert.deepEqual(steps.map((one) => `${one.agent} ${one.kind}`), [
    'agt_1 prompt', 'agt_1 call', 'agt_1 call', 'agt_1 end', 'agt_2 prompt', 'agt_2 end',
  ])
})
