/** What a form shows for a schema of the API's document. */

export interface Schema {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  description?: string
  default?: unknown
  minimum?: number
  maximum?: number
}

export type Schemas = Record<string, Schema>

export interface Field {
  name: string
  label: string
  help: string
  shape: Shape
}

export type Shape =
  | { kind: 'text'; long: boolean }
  | { kind: 'number'; min?: number; max?: number }
  | { kind: 'flag' }
  | { kind: 'choice'; options: string[] }
  /** Texts, one in a line. */
  | { kind: 'lines' }
  | { kind: 'group'; fields: Field[] }
  /** A value that may be left out. */
  | { kind: 'optional'; of: Shape; initial: unknown }
  /** Anything else is edited as JSON. */
  | { kind: 'json' }

/** Fields that hold more than a line. */
const LONG = /markdown|personality|style|instructions|description|asks_for_human|negative|uncertain|body/

export function shapeOf(schema: Schema, schemas: Schemas, name = ''): Shape {
  const found = resolve(schema, schemas)
  const variants = found.anyOf ?? found.oneOf
  if (variants) {
    const [value, ...others] = variants.filter((one) => !isNull(one))
    if (value && others.length === 0) return optional(shapeOf(value, schemas, name), value, schemas)
    const options = variants.map((one) => resolve(one, schemas)).flatMap((one) => one.enum ?? [one.const])
    return options.every((one) => typeof one === 'string') ? { kind: 'choice', options } : { kind: 'json' }
  }
  if (found.enum) {
    const options = found.enum.filter((one) => typeof one === 'string')
    const choice: Shape = { kind: 'choice', options }
    return found.enum.includes(null) ? { kind: 'optional', of: choice, initial: options[0] } : choice
  }
  const types = [found.type].flat()
  if (types.includes('null')) {
    const rest = { ...found, type: types.filter((one) => one !== undefined && one !== 'null') as string[] }
    return optional(shapeOf(rest, schemas, name), rest, schemas)
  }
  switch (types[0]) {
    case 'string':
      return { kind: 'text', long: LONG.test(name) }
    case 'integer':
    case 'number':
      return { kind: 'number', min: found.minimum, max: found.maximum }
    case 'boolean':
      return { kind: 'flag' }
    case 'array': {
      const item = found.items && shapeOf(found.items, schemas)
      return item?.kind === 'text' || item?.kind === 'choice' ? { kind: 'lines' } : { kind: 'json' }
    }
    case 'object':
      return found.properties ? { kind: 'group', fields: fieldsOf(found, schemas) } : { kind: 'json' }
    default:
      return { kind: 'json' }
  }
}

export function fieldsOf(schema: Schema, schemas: Schemas): Field[] {
  return Object.entries(resolve(schema, schemas).properties ?? {}).map(([name, of]) => {
    return { name, label: labelOf(name), help: plainHelp(of, schemas), shape: shapeOf(of, schemas, name) }
  })
}

/** What a new object starts with. */
export function initialOf(schema: Schema, schemas: Schemas): unknown {
  const found = resolve(schema, schemas)
  if (schema.default !== undefined) return structuredClone(schema.default)
  if (found.default !== undefined) return structuredClone(found.default)
  const shape = shapeOf(schema, schemas)
  switch (shape.kind) {
    case 'text':
      return ''
    case 'number':
      return shape.min ?? 0
    case 'flag':
      return false
    case 'choice':
      return shape.options[0]
    case 'lines':
      return []
    case 'group':
      return Object.fromEntries(Object.entries(found.properties ?? {}).map(([name, of]) => [name, initialOf(of, schemas)]))
    case 'optional':
      return null
    case 'json': {
      const type = [found.type].flat()[0]
      if (type === 'array') return []
      return type === 'object' ? {} : null
    }
  }
}

/** The fields that a new object must have. */
export const requiredOf = (schema: Schema, schemas: Schemas): string[] => resolve(schema, schemas).required ?? []

function resolve(schema: Schema, schemas: Schemas): Schema {
  if (!schema.$ref) return schema
  const { $ref, ...own } = schema
  return { ...resolve(schemas[$ref.split('/').pop() ?? ''] ?? {}, schemas), ...own }
}

const isNull = (schema: Schema) => schema.type === 'null'

function optional(of: Shape, schema: Schema, schemas: Schemas): Shape {
  return of.kind === 'optional' ? of : { kind: 'optional', of, initial: initialOf(schema, schemas) }
}

/** `max_messages_per_day` → `Max messages per day`. */
export function labelOf(name: string): string {
  const words = name.replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

const plainHelp = (schema: Schema, schemas: Schemas) =>
  (schema.description ?? resolve(schema, schemas).description ?? '').replace(/\s+/g, ' ').replaceAll('`', '')
