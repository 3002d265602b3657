/** The schemas of the API's document; read once. */

import type { Schema, Schemas } from './schema.ts'

let read: Promise<Schemas> | null = null

export function readSchemas(): Promise<Schemas> {
  read ??= fetch(new URL('openapi.json', document.baseURI))
    .then(async (response) => {
      if (!response.ok) throw new Error('the description of the API cannot be read')
      return ((await response.json()) as { components: { schemas: Schemas } }).components.schemas
    })
    .catch((error: unknown) => {
      read = null
      throw error
    })
  return read
}

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
