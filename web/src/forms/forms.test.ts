import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { changesOf, patchOf } from './changes.ts'
import { initialOf, labelOf, type Schemas, type Shape, shapeOf, variantOf } from './schema.ts'
import { freeValue, linesValue } from './typed.ts'

const document = new URL('../../../docs/openapi.json', import.meta.url)
const schemas = (JSON.parse(readFileSync(document, 'utf8')) as { components: { schemas: Schemas } }).components.schemas
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

test('shapes follow the schema', () => {
  const table: [object, object][] = [
    [{ type: 'string' }, { kind: 'text', long: false }],
    [{ type: ['string', 'null'] }, { kind: 'optional', of: { kind: 'text', long: false }, initial: '' }],
    [{ type: 'integer', minimum: 1, maximum: 9 }, { kind: 'number', min: 1, max: 9 }],
    [{ type: 'array', items: { type: 'string' } }, { kind: 'lines', of: 'text' }],
    [{ type: 'array', items: { type: 'integer' } }, { kind: 'lines', of: 'number' }],
    [{ type: 'array', items: { type: 'object', properties: {} } }, { kind: 'json' }],
    [{ type: 'object', additionalProperties: { type: 'string' } }, { kind: 'map', of: { kind: 'text', long: false }, initial: '' }],
    [{ enum: ['a', 'b'] }, { kind: 'choice', options: ['a', 'b'] }],
    [{ oneOf: [{ const: 'a' }, { const: 'b' }] }, { kind: 'choice', options: ['a', 'b'] }],
    [{ anyOf: [{ type: 'boolean' }, { type: 'null' }] }, { kind: 'optional', of: { kind: 'flag' }, initial: false }],
    [{ type: 'object', additionalProperties: true }, { kind: 'json' }],
  ]
  for (const [schema, expected] of table) assert.deepEqual(shapeOf(schema, {}), expected)
})

/** The fields that are edited as JSON, by their paths. */
function asJson(shape: Shape, path: string): string[] {
  switch (shape.kind) {
    case 'json':
      return [path]
    case 'optional':
    case 'list':
    case 'map':
      return asJson(shape.of, path)
    case 'group':
      return shape.fields.flatMap((field) => asJson(field.shape, `${path}.${field.name}`))
    case 'variant':
      return shape.variants.flatMap((one) => one.fields.flatMap((field) => asJson(field.shape, `${path}.${field.name}`)))
    default:
      return []
  }
}

test('u07 agents, souls, tool policies, settings and channels have forms, not JSON', () => {
  const names = ['AgentDefinition', 'OrgDefinition', 'SettingsDefinition', 'SharingDefinition', 'ChannelDefinition', 'IntegrationDefinition', 'McpServerDefinition']
  assert.deepEqual(names.flatMap((name) => asJson(shapeOf(ref(name), schemas), name)), [])
  // A JSON Schema and the template of a body are JSON.
  assert.deepEqual(asJson(shapeOf(ref('HttpToolDefinition'), schemas), ''), ['.input', '.body'])
})

test('u07 a value of one of several kinds is recognized, and an option says what it means', () => {
  const unanswered = shapeOf(ref('UnansweredPolicy'), schemas)
  assert.ok(unanswered.kind === 'variant')
  assert.deepEqual(unanswered.variants.map((one) => one.name), ['Remind after (seconds)', 'Resume after (seconds)'])
  assert.equal(variantOf(unanswered.variants, { resume_after_secs: 60 })?.name, 'Resume after (seconds)')
  const resume = shapeOf(ref('AutoResume'), schemas)
  assert.ok(resume.kind === 'variant')
  assert.equal(variantOf(resume.variants, 'never')?.name, 'Never')
  const autonomy = shapeOf(ref('AutonomyLevel'), schemas)
  assert.equal(autonomy.kind === 'choice' && autonomy.about?.supervised, 'Every tool call needs approval.')
})

test('what is typed becomes a value', () => {
  assert.deepEqual(linesValue(' 200 \n201\n\n', 'number'), [200, 201])
  assert.equal(linesValue('200\nmany', 'number'), null)
  assert.deepEqual(['#d33', 'true', '["it","de"]', '{half'].map(freeValue), ['#d33', true, ['it', 'de'], '{half'])
  assert.equal(labelOf('handoff_cooldown_secs'), 'Handoff cooldown (seconds)')
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
  assert.deepEqual(patchOf({ replies: { wait: 'One moment', bye: 'Bye' } }, { replies: { bye: 'Bye' } }), { replies: { bye: 'Bye', wait: null } })
})
