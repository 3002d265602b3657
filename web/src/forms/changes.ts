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
  return Object.fromEntries(changed.map((name) => [name, mergeOf(before[name], after[name])]))
}

/** The value of a merge patch: what was removed from an object is `null`. */
function mergeOf(before: unknown, after: unknown): unknown {
  if (!isResource(before) || !isResource(after)) return after
  const removed = Object.keys(before).filter((name) => !(name in after))
  const kept = Object.keys(after).map((name) => [name, mergeOf(before[name], after[name])])
  return Object.fromEntries([...kept, ...removed.map((name) => [name, null])])
}

export const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function show(value: unknown): string {
  if (value === null || value === undefined || value === '') return 'not set'
  if (value === true || value === false) return value ? 'yes' : 'no'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(show).join(', ')
  if (!isResource(value)) return String(value)
  const fields = Object.entries(value).filter(([, of]) => of !== null && of !== undefined)
  return fields.length === 0 ? 'none' : fields.map(([name, of]) => `${name.replaceAll('_', ' ')}: ${show(of)}`).join('; ')
}
