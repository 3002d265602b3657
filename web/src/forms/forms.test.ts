import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { changesOf, patchOf } from './changes.ts'
import { initialOf, type Schemas, shapeOf } from './schema.ts'

const document = new URL('../../../docs/openapi.json', import.meta.url)
const schemas = (JSON.parse(readFileSync(document, 'utf8')) as { components: { schemas: Schemas } }).components.schemas
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

test('shapes follow the schema', () => {
  const table: [object, object][] = [
    [{ type: 'string' }, { kind: 'text', long: false }],
    [{ type: ['string', 'null'] }, { kind: 'optional', of: { kind: 'text', long: false }, initial: '' }],
    [{ type: 'integer', minimum: 1, maximum: 9 }, { kind: 'number', min: 1, max: 9 }],
    [{ type: 'array', items: { type: 'string' } }, { kind: 'lines' }],
    [{ type: 'array', items: { type: 'object', properties: {} } }, { kind: 'json' }],
    [{ enum: ['a', 'b'] }, { kind: 'choice', options: ['a', 'b'] }],
    [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, { kind: 'choice', options: ['a', 'b'] }],
    [{ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, { kind: 'optional', of: { kind: 'flag' }, initial: false }],
    [{ type: 'object', additionalProperties: true }, { kind: 'json' }],
  ]
  for (const [schema, expected] of table) assert.deepEqual(shapeOf(schema, {}), expected)
})

test('u07 every field of an agent has a form, not JSON', () => {
  const agent = shapeOf(ref('AgentDefinition'), schemas)
  assert.ok(agent.kind === 'group')
  const asJson = agent.fields.filter((field) => field.shape.kind === 'json').map((field) => field.name)
  assert.deepEqual(asJson, [])
})

test('a new agent starts with what the document says', () => {
  const agent = initialOf(ref('AgentDefinitionInput'), schemas) as Record<string, unknown>
  assert.deepEqual(agent.limits, { max_messages_per_day: 100, max_cents_per_day: 500 })
  assert.equal(agent.status, 'active')
  assert.equal(agent.brand, null)
})

test('changes are fields with their old and new values, and only they are sent', () => {
  const before = { name: 'Gia', limits: { day: 100, cents: 5 }, tags: ['a'], brand: null }
  const after = { name: 'Gia', limits: { day: 50, cents: 5 }, tags: ['a', 'b'], brand: null }
  assert.deepEqual(changesOf(before, after), [
    { field: 'limits.day', before: '100', after: '50' },
    { field: 'tags', before: 'a', after: 'a, b' },
  ])
  assert.deepEqual(patchOf(before, after), { limits: { day: 50, cents: 5 }, tags: ['a', 'b'] })
})
