/** Follows the events of a thread until it is told to stop, and resumes after a break. */

import type { Client } from '../api/client.ts'
import { Problem } from '../api/problem.ts'
import { EventParser, type ServerEvent } from '../api/sse.ts'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 10_000

/** Returns the error for which following makes no sense, or nothing when it was stopped. */
export async function follow(
  client: Client,
  path: string,
  onEvent: (event: ServerEvent) => void,
  signal: AbortSignal,
): Promise<unknown> {
  let last = '0'
  let wait = FIRST_WAIT_MS
  while (!signal.aborted) {
    try {
      const body = await client.stream(`${path}?after=${last}`, null, signal)
      const reader = body.pipeThrough(new TextDecoderStream()).getReader()
      const parser = new EventParser()
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        for (const event of parser.push(part.value)) {
          if (event.id) last = event.id
          wait = FIRST_WAIT_MS
          onEvent(event)
        }
      }
    } catch (error) {
      if (error instanceof Problem && error.status >= 400 && error.status < 500 && error.status !== 429) return error
    }
    await new Promise((resolve) => setTimeout(resolve, wait))
    wait = Math.min(wait * 2, LONGEST_WAIT_MS)
  }
  return null
}
