/** Arguments of a call as a form: one text per name. */

export interface Field {
  name: string
  text: string
  /** Whether the value is text; anything else is edited as JSON. */
  isText: boolean
}

export function fieldsOf(value: unknown): Field[] | null {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return null
  return Object.entries(value).map(([name, one]) => {
    const isText = typeof one === 'string'
    return { name, isText, text: isText ? one : JSON.stringify(one) }
  })
}

/** Returns the arguments, or throws a sentence that names the field that is not JSON. */
export function argumentsOf(fields: Field[]): Record<string, unknown> {
  return Object.fromEntries(fields.map((field) => [field.name, valueOf(field)]))
}

function valueOf({ name, text, isText }: Field): unknown {
  if (isText) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`\`${name}\` has to be JSON, such as 12, true or ["a"]`)
  }
}
