/** The API's document: its schemas, and which routes there are; read once. */

import type { Schema, Schemas } from './schema.ts'

interface ApiDocument {
  paths: Record<string, unknown>
  components: { schemas: Schemas }
}

let read: Promise<ApiDocument> | null = null

function readDocument(): Promise<ApiDocument> {
  read ??= fetch(new URL('openapi.json', document.baseURI))
    .then(async (response) => {
      if (!response.ok) throw new Error('the description of the API cannot be read')
      return (await response.json()) as ApiDocument
    })
    .catch((error: unknown) => {
      read = null
      throw error
    })
  return read
}

export const readSchemas = async (): Promise<Schemas> => (await readDocument()).components.schemas

/** Whether the server has a route, such as `/v1/orgs/{org}/agents`. */
export const hasRoute = async (path: string): Promise<boolean> => path in (await readDocument()).paths

export const ref = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` })
