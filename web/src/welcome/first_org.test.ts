import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstResources, slugOf } from './first_org.ts'

test('u12 the name of an organization becomes its slug', () => {
  for (const [name, slug] of [['Bella Pizza!', 'bella-pizza'], ['Café Zürich', 'cafe-zurich'], ['  --  ', '']]) {
    assert.equal(slugOf(name as string), slug)
  }
})

test('u12 the first organization has agents and a web chat', () => {
  const resources = firstResources({ name: 'Bella Pizza', timeZone: 'Europe/Rome', agent: 'Gia' })
  assert.deepEqual(Object.keys(resources), ['org bella-pizza', 'agent bella-pizza/pm', 'agent bella-pizza/gia', 'channel bella-pizza/webchat'])
  assert.equal(resources['channel bella-pizza/webchat']?.agent, 'gia')
})
