import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Soul } from '../api/types.ts'
import { changesOf } from './soul_diff.ts'

const soul: Soul = {
  personality: 'calm', traits: ['kind', 'brief'], communication_style: '', core_values: [], never_do: [],
  always_do: [], escalation_triggers: [], soul_markdown: 'a\nb',
}

test('u07 only what changes is shown', () => {
  const after = { ...soul, personality: 'warm', traits: ['kind', 'patient'], soul_markdown: 'a\nb\nc' }
  assert.deepEqual(changesOf(soul, after), [
    { field: 'personality', removed: ['calm'], added: ['warm'] },
    { field: 'traits', removed: ['brief'], added: ['patient'] },
    { field: 'soul_markdown', removed: [], added: ['c'] },
  ])
  assert.deepEqual(changesOf(soul, soul), [])
})
