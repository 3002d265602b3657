import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasEnded, questionsOf, stepOf, toneOf, valueOf } from './tasks.ts'

const task = (questions: unknown[]) => ({ task: 'decide', state: 'waits', reason: null, result: null, questions, record: null, children: [], finished_at: null })

test('a question has its words and its options, also if its kind is unknown', () => {
  const asked = { key: '0', asks: 'question', question: 'Shall we pay?', options: ['yes', 'no'] }
  assert.deepEqual(questionsOf(task([asked])), [{ asks: 'question', text: 'Shall we pay?', options: ['yes', 'no'], arguments: null }])
  assert.deepEqual(questionsOf(task([{ asks: 'approval', tool: 'refund_payment', why: 'destructive', arguments: { order: 1 } }])), [
    { asks: 'approval', text: 'destructive', options: [], arguments: { order: 1 } },
  ])
  assert.deepEqual(questionsOf(task([{}])), [{ asks: 'question', text: 'It waits for an answer.', options: [], arguments: null }])
})

test('tasks of a step have its name, and states a colour', () => {
  assert.deepEqual(['Three', '7', '[1]', '{"a": 2}'].map(valueOf), ['Three', '7', [1], { a: 2 }])
  assert.deepEqual(['pay', 'lines/0', 'pay!undo'].map(stepOf), ['pay', 'lines', 'pay'])
  assert.deepEqual(['done', 'failed', 'waits', 'running'].map(toneOf), ['good', 'bad', 'warn', undefined])
  assert.deepEqual(['done', 'waiting', 'failed'].map(hasEnded), [true, false, true])
})
