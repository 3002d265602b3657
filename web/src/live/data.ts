/** What the pages read, each under the topic by which the event stream makes it out of date. */

import { createQuery } from '@tanstack/svelte-query'
import type {
  Approval, CreditAccount, DeadLetter, Document, Insight, Issue, LedgerLine, Notice, OrgDelegation, Page,
  Session, SessionDetail, SoulProposal, UnknownOutcome,
} from '../api/types.ts'
import type * as Api from '../api/schema.ts'
import { account } from '../log_in/account.svelte.ts'
import type { ThreadInfo } from '../threads/events.ts'
import type { Topic } from './topics.ts'

const org = () => account.org?.org ?? ''

export function orgQuery<T>(topic: Topic, path: () => string | null) {
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
export const useAgents = () => orgQuery<Page<Api.AgentDefinition>>('setup', () => 'agents')

export const useSoulVersions = (agent: () => string) =>
  orgQuery<Api.SoulVersions>('setup', () => `agents/${agent()}/soul/versions`)

export const usePrompt = (agent: () => string) => orgQuery<Api.PromptPreview>('setup', () => `agents/${agent()}/prompt`)
export const useAgentTools = (agent: () => string) => orgQuery<Api.ToolExplanation>('setup', () => `agents/${agent()}/tools`)
export const useMembers = () => orgQuery<Page<Api.Member>>('setup', () => 'members')
export const useRun = (id: () => string | null) => orgQuery<Api.RunDetail>('session', () => (id() ? `runs/${id()}` : null))

export const useRunHarness = (id: () => string | null) =>
  orgQuery<Api.RunHarness>('session', () => (id() ? `runs/${id()}/harness` : null))

export const useAudit = (filter: () => string) => orgQuery<Page<Api.AuditEntry>>('setup', () => `audit?limit=100${filter()}`)

/** An object that is edited, with its version. */
export const useVersioned = <T>(path: () => string) =>
  createQuery(() => ({
    queryKey: ['setup', org(), 'edited', path()],
    queryFn: ({ signal }) => account.client.getVersioned<T>(account.path(path()), signal),
    // A form is not changed below the hands of who fills it in.
    refetchInterval: false as const,
  }))

export const useDocuments = () => orgQuery<Page<Document>>('knowledge', () => 'knowledge')
