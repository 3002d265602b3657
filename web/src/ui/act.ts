/** Does something over the API, says how it went, and reads again what it has changed. */

import type { QueryClient } from '@tanstack/svelte-query'
import type { Topic } from '../live/topics.ts'
import { account } from '../log_in/account.svelte.ts'
import { toasts } from './toasts.svelte.ts'

export interface Act {
  path: string
  body?: unknown
  /** What is said when it is done. */
  done: string
  topics: Topic[]
}

/** Throws if it failed, for a dialog that stays open. */
export async function perform(queries: QueryClient, { path, body, done, topics }: Act): Promise<void> {
  try {
    await account.client.post(account.path(path), body ?? {})
    toasts.good(done)
  } finally {
    for (const topic of topics) void queries.invalidateQueries({ queryKey: [topic] })
  }
}

/** Shows a failure, for a button. */
export async function performOrSay(queries: QueryClient, act: Act): Promise<void> {
  await perform(queries, act).catch((error: unknown) => toasts.bad(error))
}

/** Removes something, and says how it went. */
export async function remove(queries: QueryClient, { path, done, topics }: Act): Promise<void> {
  try {
    await account.client.request('DELETE', account.path(path))
    toasts.good(done)
  } catch (error) {
    toasts.bad(error)
  }
  for (const topic of topics) void queries.invalidateQueries({ queryKey: [topic] })
}
