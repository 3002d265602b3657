/** What agents and people are called on screen. */

import { shortId } from '../format/words.ts'
import { names } from '../live/names.svelte.ts'
import { account } from '../log_in/account.svelte.ts'

export function agentName(id: string | null): string {
  return id ? (names.agent(id) ?? `Agent ${shortId(id)}`) : 'No agent'
}

export function personName(user: string | null): string {
  if (!user) return 'A person'
  if (/^usr_0+1$/.test(user)) return 'The terminal'
  return user === account.user ? 'You' : (names.person(user) ?? `Colleague ${shortId(user)}`)
}
