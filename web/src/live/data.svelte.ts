/** What the pages read, each under the topic by which the event stream makes it out of date. */

import { createInfiniteQuery, createQuery } from '@tanstack/svelte-query'
import type {
  Approval, CreditAccount, DeadLetter, Document, Insight, Issue, LedgerLine, Notice, OrgDelegation, Page,
  ListedSession, SessionDetail, SoulProposal, UnknownOutcome,
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

/** Conversations that a person has or that wait for one. */
export const useHandedOff = (filter = () => '') =>
  orgQuery<Page<ListedSession>>('sessions', () => `sessions?which=handed_off&limit=200${filter()}`)

/** Which conversations to read besides all: those that a page of all may not reach. */
export type Reach = 'assigned_to_me' | 'unread' | null

/** Conversations: those that concern people at once, the others page by page. */
export function useConversations(filter = () => '', reach: () => Reach = () => null) {
  const handedOff = useHandedOff(filter)
  const reached = orgQuery<Page<ListedSession>>('sessions', () => (reach() ? `sessions?which=${reach()}&limit=200${filter()}` : null))
  const pages = createInfiniteQuery(() => ({
    queryKey: ['sessions', org(), 'pages', filter()],
    queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
      const after = pageParam ? `&cursor=${encodeURIComponent(pageParam)}` : ''
      return account.client.get<Page<ListedSession>>(account.path(`sessions?limit=200${filter()}${after}`), signal)
    },
    initialPageParam: '',
    getNextPageParam: (last: Page<ListedSession>) => last.next ?? null,
  }))
  const items = $derived.by(() => {
    const all = [...(pages.data?.pages ?? []).flatMap((page) => page.items), ...(handedOff.data?.items ?? []), ...(reached.data?.items ?? [])]
    return [...new Map(all.map((one) => [one.id, one])).values()]
  })
  return {
    get items() {
      return items
    },
    get error() {
      return pages.error ?? handedOff.error
    },
    get isLoaded() {
      return pages.isSuccess && handedOff.isSuccess && (reach() === null || reached.isSuccess)
    },
    /** Whether there are older ones. */
    get hasMore() {
      return pages.hasNextPage
    },
    more() {
      if (pages.hasNextPage && !pages.isFetchingNextPage) void pages.fetchNextPage()
    },
    refetch() {
      void Promise.all([pages.refetch(), handedOff.refetch()])
    },
  }
}

/** Messages with these words, newest conversation first. */
export const useMessageSearch = (words: () => string) =>
  createInfiniteQuery(() => ({
    queryKey: ['session', org(), 'search', words()],
    queryFn: ({ pageParam, signal }: { pageParam: string; signal: AbortSignal }) => {
      const after = pageParam ? `&cursor=${encodeURIComponent(pageParam)}` : ''
      return account.client.get<Page<Api.FoundMessage>>(account.path(`messages?words=${encodeURIComponent(words())}&limit=20${after}`), signal)
    },
    initialPageParam: '',
    getNextPageParam: (last: Page<Api.FoundMessage>) => last.next ?? null,
    enabled: words() !== '',
  }))

export const useSessionWork = (id: () => string | null) =>
  orgQuery<Api.SessionWork>('session', () => (id() ? `sessions/${id()}/work` : null))

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

export const useWorkflows = (isShown: () => boolean) =>
  orgQuery<Page<Api.Workflow>>('workflows', () => (isShown() ? 'workflows?limit=100' : null))

export const useWorkflow = (id: () => string) => orgQuery<Api.WorkflowDetail>('workflows', () => `workflows/${id()}`)

export const useWorkflowGraph = (id: () => string) => orgQuery<Api.WorkflowGraph>('workflows', () => `workflows/${id()}/graph`)

export const useRunHarness = (id: () => string | null) =>
  orgQuery<Api.RunHarness>('session', () => (id() ? `runs/${id()}/harness` : null))

export const useReplayPlan = (id: () => string | null) =>
  orgQuery<Api.ReplayPlan>('session', () => (id() ? `runs/${id()}/replay` : null))

export const useSpend = (days: () => number) => orgQuery<Api.SpendReport>('credits', () => `credits/spend?days=${days()}`)
export const useSettings = () => orgQuery<Api.SettingsDefinition>('setup', () => 'settings')

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
