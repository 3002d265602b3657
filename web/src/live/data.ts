/** What the pages read, each under the topic by which the event stream makes it out of date. */

import { createQuery } from '@tanstack/svelte-query'
import type {
  Approval, CreditAccount, DeadLetter, Document, Insight, Issue, LedgerLine, Notice, OrgDelegation, Page,
  Session, SessionDetail, SoulProposal, UnknownOutcome,
} from '../api/types.ts'
import { account } from '../log_in/account.svelte.ts'
import type { ThreadInfo } from '../threads/events.ts'
import type { Topic } from './topics.ts'

const org = () => account.org?.org ?? ''

function orgQuery<T>(topic: Topic, path: () => string | null) {
  return createQuery(() => {
    const rest = path()
    return {
      queryKey: [topic, org(), rest],
      queryFn: ({ signal }) => account.client.get<T>(account.path(rest ?? ''), signal),
      enabled: rest !== null,
    }
  })
}

export const useSessions = () => orgQuery<Page<Session>>('sessions', () => 'sessions?limit=200')

export const useSession = (id: () => string | null) =>
  orgQuery<SessionDetail>('session', () => (id() ? `sessions/${id()}` : null))

export const useApprovals = (which: () => string) =>
  orgQuery<Page<Approval>>('approvals', () => `approvals?which=${which()}`)

export const useNotices = () => orgQuery<Page<Notice>>('notices', () => 'notices')
export const useDeadLetters = () => orgQuery<Page<DeadLetter>>('problems', () => 'dead-letters')
export const useUnknownOutcomes = () => orgQuery<Page<UnknownOutcome>>('problems', () => 'unknown-outcomes')
export const useCredits = () => orgQuery<CreditAccount>('credits', () => 'credits')
export const useLedger = () => orgQuery<Page<LedgerLine>>('credits', () => 'credits/ledger?limit=200')
export const useIssues = () => orgQuery<Page<Issue>>('layers', () => 'issues')
export const useDelegations = () => orgQuery<Page<OrgDelegation>>('layers', () => 'org-delegations')
export const useInsights = () => orgQuery<Page<Insight>>('layers', () => 'insights')
export const useSoulProposals = () => orgQuery<Page<SoulProposal>>('layers', () => 'soul-proposals')

export const useSoulProposal = (id: () => string | null) =>
  orgQuery<SoulProposal>('layers', () => (id() ? `soul-proposals/${id()}` : null))

export const useThreads = (search: () => string) =>
  orgQuery<Page<ThreadInfo>>('threads', () => `threads?search=${encodeURIComponent(search())}`)
export const useDocuments = () => orgQuery<Page<Document>>('knowledge', () => 'knowledge')
