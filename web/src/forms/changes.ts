/** What saving would change, as `ostler apply` shows it: fields with their old and new values. */

export interface Change {
  /** Fields of objects are separated by dots. */
  field: string
  before: string
  after: string
}

/** An object of the API. */
export type Resource = Record<string, unknown>

export function changesOf(before: unknown, after: unknown, field = ''): Change[] {
  if (isResource(before) && isResource(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])]
    return names.flatMap((name) => changesOf(before[name], after[name], field ? `${field}.${name}` : name))
  }
  const [old, next] = [show(before), show(after)]
  return old === next ? [] : [{ field, before: old, after: next }]
}

/** The fields to send: those of the first level that differ. */
export function patchOf(before: Resource, after: Resource): Resource {
  const changed = Object.keys(after).filter((name) => changesOf(before[name], after[name]).length > 0)
  return Object.fromEntries(changed.map((name) => [name, after[name]]))
}

export const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function show(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set'
  if (Array.isArray(value)) {
    if (value.length === 0) return 'none'
    return value.map((one) => (typeof one === 'string' ? one : JSON.stringify(one))).join(', ')
  }
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
