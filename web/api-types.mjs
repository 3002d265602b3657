// Writes the types of the HTTP API from its document (docs/openapi.json) to src/api/schema.ts,
// so that a page that reads what the API does not send fails the type check.
import { readFileSync, writeFileSync } from 'node:fs'

const here = new URL('.', import.meta.url)
const { schemas } = JSON.parse(readFileSync(new URL('../docs/openapi.json', here), 'utf8')).components

const text = (value) => JSON.stringify(value)
const union = (types) => [...new Set(types)].join(' | ') || 'never'

function typeOf(schema) {
  if (schema === true || schema === undefined) return 'unknown'
  if (schema === false) return 'never'
  if (schema.$ref) return schema.$ref.split('/').pop()
  if ('const' in schema) return text(schema.const)
  if (schema.enum) return union(schema.enum.map(text))
  const variants = schema.oneOf ?? schema.anyOf
  if (variants) return withMembers(union(variants.map((one) => group(typeOf(one)))), schema)
  if (schema.allOf) return schema.allOf.map((one) => group(typeOf(one))).join(' & ')
  const types = [schema.type ?? (schema.properties ? 'object' : 'unknown')].flat()
  return union(types.map((type) => plainType(type, schema)))
}

/** A choice that also has members of its own. */
const withMembers = (choice, schema) => (schema.properties ? `(${choice}) & ${objectOf(schema)}` : choice)
const group = (type) => (type.includes(' | ') || type.includes(' & ') ? `(${type})` : type)

function plainType(type, schema) {
  switch (type) {
    case 'integer':
    case 'number':
      return 'number'
    case 'array':
      return schema.prefixItems ? `[${schema.prefixItems.map(typeOf).join(', ')}]` : `${group(typeOf(schema.items))}[]`
    case 'object':
      return objectOf(schema)
    default:
      return type
  }
}

function objectOf({ properties = {}, required = [], additionalProperties }) {
  const members = Object.entries(properties).map(([name, schema]) => {
    return `${note(schema)}${text(name)}${required.includes(name) ? '' : '?'}: ${typeOf(schema)}`
  })
  if (members.length === 0) return `Record<string, ${typeOf(additionalProperties || undefined)}>`
  return `{ ${members.join('; ')} }`
}

const note = ({ description }) => (description ? `/** ${description.replaceAll('*/', '').replace(/\s+/g, ' ')} */ ` : '')

const lines = Object.entries(schemas).map(([name, schema]) => `${note(schema)}\nexport type ${name} = ${typeOf(schema)}\n`)
writeFileSync(new URL('src/api/schema.ts', here), `// Written by api-types.mjs.\n\n${lines.join('\n')}`)
