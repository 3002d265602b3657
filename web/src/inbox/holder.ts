/** Who holds a conversation, and in which order conversations need attention. */

import type { ListedSession, Session, Urgency } from '../api/types.ts'

export type Holder =
  | { kind: 'agent'; agent: string | null }
  | { kind: 'waiting'; since: number; urgency: Urgency; reason: string }
  | { kind: 'person'; user: string | null; since: number | null }
  | { kind: 'closed' }

export function holderOf(session: Session): Holder {
  if (session.status === 'closed') return { kind: 'closed' }
  if (session.status === 'active') return { kind: 'agent', agent: session.agent }
  const one = session.escalation
  if (one?.status === 'pending') {
    return { kind: 'waiting', since: one.requested_at, urgency: one.urgency, reason: one.reason }
  }
  return { kind: 'person', user: one?.taken_over_by ?? null, since: one?.taken_over_at ?? null }
}

export type Filter = 'all' | 'waiting' | 'mine' | 'unread' | 'agents' | 'closed'

export function matches(session: ListedSession, filter: Filter, user: string | null): boolean {
  const holder = holderOf(session)
  switch (filter) {
    case 'all':
      return holder.kind !== 'closed'
    case 'waiting':
      return holder.kind === 'waiting' || needsDecision(session)
    case 'mine':
      return holder.kind !== 'closed' && user !== null && (session.assignee === user || (holder.kind === 'person' && holder.user === user))
    case 'unread':
      return session.unread > 0
    case 'agents':
      return holder.kind === 'agent'
    case 'closed':
      return holder.kind === 'closed'
  }
}

const URGENCY: Record<Urgency, number> = { high: 0, normal: 1, low: 2 }

/** Those who wait come first, by urgency and then by waiting time. The rest is newest first. */
export function compare(a: ListedSession, b: ListedSession): number {
  const [one, other] = [holderOf(a), holderOf(b)]
  if (one.kind === 'waiting' && other.kind === 'waiting') {
    return URGENCY[one.urgency] - URGENCY[other.urgency] || one.since - other.since
  }
  if (one.kind === 'waiting') return -1
  if (other.kind === 'waiting') return 1
  const decisions = Number(needsDecision(b)) - Number(needsDecision(a))
  return decisions || lastAt(b) - lastAt(a)
}

/** When something was written last, or the conversation began. */
export const lastAt = (session: Session & Partial<ListedSession>) => session.last_message?.at ?? session.opened_at

export function needsDecision(session: Session): boolean {
  return session.status !== 'closed' && session.pending_approvals + session.unknown_outcomes > 0
}

export function peerName(session: Session): string {
  if (session.name) return session.name
  const id = 'person' in session.peer ? session.peer.person : session.peer.group
  return /^[0-9a-f]{16,}$/.test(id) ? `Visitor ${id.slice(-4)}` : id
}
