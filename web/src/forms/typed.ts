/** What is typed into a field, as a value of the API, and back. */

export const linesText = (value: unknown) => (Array.isArray(value) ? value.join('\n') : '')

/** The lines of a text; `null` if one of them is no number where numbers are wanted. */
export function linesValue(typed: string, of: 'text' | 'number'): unknown[] | null {
  const lines = typed.split('\n').map((line) => line.trim()).filter((line) => line !== '')
  if (of === 'text') return lines
  const numbers = lines.map(Number)
  return numbers.some(Number.isNaN) ? null : numbers
}

/** A setting without a type: a text, or anything else as JSON. */
export const freeText = (value: unknown) => (typeof value === 'string' ? value : value === undefined || value === null ? '' : JSON.stringify(value))

/** Flags, lists and objects are typed as JSON. Digits stay a text: most settings with digits are names. */
export function freeValue(typed: string): unknown {
  if (!/^(true|false|\[|\{)/.test(typed.trim())) return typed
  try {
    return JSON.parse(typed) as unknown
  } catch {
    return typed
  }
}
