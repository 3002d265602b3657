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
  additionalProperties?: boolean | Schema
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
  | { kind: 'choice'; options: string[]; about?: Record<string, string> }
  /** Texts or numbers, one in a line. */
  | { kind: 'lines'; of: 'text' | 'number' }
  | { kind: 'group'; fields: Field[] }
  /** Groups, any number of them. */
  | { kind: 'list'; of: Shape; initial: unknown }
  /** Values by a name that the person chooses. */
  | { kind: 'map'; of: Shape; initial: unknown }
  /** One of several kinds of value, each with fields of its own. */
  | { kind: 'variant'; variants: Variant[] }
  /** A text, a number or a flag of settings whose names the document does not know. */
  | { kind: 'free' }
  /** A value that may be left out. */
  | { kind: 'optional'; of: Shape; initial: unknown }
  /** Anything else is edited as JSON. */
  | { kind: 'json' }

export interface Variant {
  name: string
  help: string
  /** The fields that tell it from the others. */
  keys: string[]
  /** The value of a variant without fields. */
  constant: string | null
  fields: Field[]
  initial: unknown
}

/** Fields that hold more than a line. */
const LONG = /markdown|personality|style|instructions|description|asks_for_human|negative|uncertain|body/

export function shapeOf(schema: Schema, schemas: Schemas, name = ''): Shape {
  const found = resolve(schema, schemas)
  const variants = found.anyOf ?? found.oneOf
  if (variants) {
    const [value, ...others] = variants.filter((one) => !isNull(one))
    if (value && others.length === 0) return optional(shapeOf(value, schemas, name), value, schemas)
    const options = variants.map((one) => resolve(one, schemas)).flatMap((one) => one.enum ?? [one.const])
    return options.every((one) => typeof one === 'string') ? { kind: 'choice', options } : variantShape(variants, schemas)
  }
  if (found.enum) {
    const options = found.enum.filter((one) => typeof one === 'string')
    const about = choiceTexts(options, [found, resolve({ $ref: schema.$ref }, schemas)])
    const choice: Shape = about ? { kind: 'choice', options, about } : { kind: 'choice', options }
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
      if (!found.items) return { kind: 'json' }
      const item = shapeOf(found.items, schemas)
      if (item.kind === 'text' || item.kind === 'choice') return { kind: 'lines', of: 'text' }
      if (item.kind === 'number') return { kind: 'lines', of: 'number' }
      const isEmpty = item.kind === 'group' && item.fields.length === 0
      return item.kind === 'group' && !isEmpty ? { kind: 'list', of: item, initial: initialOf(found.items, schemas) } : { kind: 'json' }
    }
    case 'object': {
      if (found.properties) return { kind: 'group', fields: fieldsOf(found, schemas) }
      const values = found.additionalProperties
      if (values && values !== true) return { kind: 'map', of: shapeOf(values, schemas), initial: initialOf(values, schemas) }
      return name === 'settings' ? { kind: 'map', of: { kind: 'free' }, initial: '' } : { kind: 'json' }
    }
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
    case 'list':
      return []
    case 'map':
      return {}
    case 'variant':
      return structuredClone(shape.variants[0]?.initial)
    case 'optional':
      return null
    case 'free':
      return ''
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

/** The variants of a value: words, or objects that are told apart by their first field. */
function variantShape(all: Schema[], schemas: Schemas): Shape {
  const variants = all.map((one): Variant | null => {
    const found = resolve(one, schemas)
    const help = plainHelp(one, schemas)
    if (typeof found.const === 'string') {
      return { name: labelOf(found.const), help, keys: [], constant: found.const, fields: [], initial: found.const }
    }
    const keys = found.required ?? []
    if (!found.properties || keys.length === 0) return null
    return { name: labelOf(keys[0] ?? ''), help, keys, constant: null, fields: fieldsOf(found, schemas), initial: initialOf(one, schemas) }
  })
  return variants.every((one) => one !== null) ? { kind: 'variant', variants } : { kind: 'json' }
}

/** The variant that a value is of. */
export function variantOf(variants: Variant[], value: unknown): Variant | undefined {
  const has = (name: string) => typeof value === 'object' && value !== null && name in value
  return variants.find((one) => (one.constant === null ? one.keys.every(has) : one.constant === value))
}

/** What the document says of each option: lines such as ``- `supervised`: Every call …``. */
function choiceTexts(options: string[], schemas: Schema[]): Record<string, string> | null {
  const lines = schemas.flatMap((one) => (one.description ?? '').split('\n'))
  const texts = options.flatMap((option) => {
    const start = `- \`${option}\`: `
    const line = lines.find((one) => one.startsWith(start))
    return line ? [[option, line.slice(start.length).replaceAll('`', '')]] : []
  })
  return texts.length > 0 ? (Object.fromEntries(texts) as Record<string, string>) : null
}

const isNull = (schema: Schema) => schema.type === 'null'

function optional(of: Shape, schema: Schema, schemas: Schemas): Shape {
  return of.kind === 'optional' ? of : { kind: 'optional', of, initial: initialOf(schema, schemas) }
}

/** Units at the end of names, in words. */
const UNITS: [RegExp, string][] = [[/_secs$/, ' (seconds)'], [/_percent$/, ' (percent)'], [/^url$/, 'URL'], [/^max_cents/, 'max US cents']]

/** `max_messages_per_day` → `Max messages per day`. */
export function labelOf(name: string): string {
  const words = UNITS.reduce((text, [unit, word]) => text.replace(unit, word), name).replaceAll('_', ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** The description of a field, without the list of its options, which a form shows by itself. */
const plainHelp = (schema: Schema, schemas: Schemas) =>
  (schema.description ?? resolve(schema, schemas).description ?? '').replace(/\n- `[^]*$/, '').replace(/\s+/g, ' ').replaceAll('`', '')
