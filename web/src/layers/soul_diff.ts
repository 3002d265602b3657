/** What a proposal would change in a soul, field by field. */

import type { Soul } from '../api/types.ts'

export interface FieldChange {
  field: string
  removed: string[]
  added: string[]
}

export function changesOf(before: Soul, after: Soul): FieldChange[] {
  const fields = Object.keys(after) as (keyof Soul)[]
  return fields.flatMap((field) => {
    const [old, next] = [linesOf(before[field]), linesOf(after[field])]
    const removed = old.filter((line) => !next.includes(line))
    const added = next.filter((line) => !old.includes(line))
    return removed.length + added.length > 0 ? [{ field, removed, added }] : []
  })
}

const linesOf = (value: string | string[]) =>
  (typeof value === 'string' ? value.split('\n') : value).filter((line) => line.trim() !== '')
