/** What the pages read, each under the topic by which the event stream makes it out of date. */

import { createInfiniteQuery, createQuery } from '@tanstack/svelte-query'
import type {
  Approval, CreditAccount, DeadLetter, Document, Insight, Issue, LedgerLine, Notice, OrgDelegation, Page,
  ListedSession, SessionDetail, SoulProposal, UnknownOutcome,
} from '../api/types.ts'
import type * as Api from '../api/schema.ts'
import { account } from '../log_in/account.svelte.ts'
import type { BusDeadLetter, WaitingPlan, WorkItem } from '../runtime/data.ts'
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

/** What waits for a person here and at the clients. Their events are not followed, so it is read often. */
export const useClientInbox = () =>
  createQuery(() => ({
    queryKey: ['sessions', org(), 'clients'],
    queryFn: ({ signal }) => account.client.get<Page<Api.InboxEntry>>(account.path('inbox'), signal),
    refetchInterval: 5_000,
  }))

/** The organizations that the caller may view. */
export const useOrgs = () =>
  createQuery(() => ({ queryKey: ['layers', 'orgs'], queryFn: ({ signal }) => account.client.get<Page<Api.OrgSummary>>('orgs', signal) }))

/** Something of another organization, read while it is on the screen. Events of this one do not make it out of date. */
const otherOrgQuery = <T>(id: () => string, isShown: () => boolean, rest: string) =>
  createQuery(() => ({
    queryKey: ['other-org', id(), rest],
    queryFn: ({ signal }) => account.client.get<T>(`orgs/${id()}/${rest}`, signal),
    enabled: isShown(),
    refetchInterval: 60_000,
  }))

export const useOrgCredits = (id: () => string, isShown: () => boolean) => otherOrgQuery<CreditAccount>(id, isShown, 'credits')
export const useOrgDeadLetters = (id: () => string, isShown: () => boolean) => otherOrgQuery<Page<DeadLetter>>(id, isShown, 'dead-letters')

export const useClients = () => orgQuery<Page<Api.OrgSummary>>('layers', () => 'clients')

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

/** Whether the server can work: the same that load balancers ask. */
export const useHealth = () =>
  createQuery(() => ({
    queryKey: ['health'],
    queryFn: async ({ signal }) => {
      const response = await fetch(new URL('readyz', document.baseURI), { signal })
      return (await response.json()) as { status: string | number; detail?: string }
    },
    refetchInterval: 30_000,
    retry: false,
  }))

export const useApproval = (id: () => string | null) =>
  orgQuery<Api.ApprovalDetail>('approvals', () => (id() ? `approvals/${id()}` : null))

export const useNotices = () => orgQuery<Page<Notice>>('notices', () => 'notices')
export const useDeadLetters = () => orgQuery<Page<DeadLetter>>('problems', () => 'dead-letters')
export const useUnknownOutcomes = () => orgQuery<Page<UnknownOutcome>>('problems', () => 'unknown-outcomes')
export const useCredits = () => orgQuery<CreditAccount>('credits', () => 'credits')
export const useLedger = () => orgQuery<Page<LedgerLine>>('credits', () => 'credits/ledger?limit=200')
export const useIssues = () => orgQuery<Page<Issue>>('layers', () => 'issues')
export const useDelegations = () => orgQuery<Page<OrgDelegation>>('layers', () => 'org-delegations')
export const useInsights = () => orgQuery<Page<Insight>>('layers', () => 'insights')
export const useSoulProposals = () => orgQuery<Page<SoulProposal>>('layers', () => 'soul-proposals')

/** Levels of autonomy that wait for a decision. */
export const useLevelProposals = () => orgQuery<Page<Api.LevelProposal>>('layers', () => 'promotions')

export const useSoulProposal = (id: () => string | null) =>
  orgQuery<SoulProposal>('layers', () => (id() ? `soul-proposals/${id()}` : null))

export const useThreads = (search: () => string) =>
  orgQuery<Page<ThreadInfo>>('threads', () => `threads?search=${encodeURIComponent(search())}`)
export const useThreadChoices = () => orgQuery<Api.ThreadChoices>('threads', () => 'thread-choices')
export const useAgents = () => orgQuery<Page<Api.AgentDefinition>>('setup', () => 'agents')

export const useSoulVersions = (agent: () => string) =>
  orgQuery<Api.SoulVersions>('setup', () => `agents/${agent()}/soul/versions`)

export const usePrompt = (agent: () => string) => orgQuery<Api.PromptPreview>('setup', () => `agents/${agent()}/prompt`)
export const useAgentTools = (agent: () => string) => orgQuery<Api.ToolExplanation>('setup', () => `agents/${agent()}/tools`)
export const useChannelStatus = (name: () => string) => orgQuery<Api.ChannelStatus>('setup', () => `channels/${name()}/status`)
export const useSessionTools = (session: () => string) => orgQuery<Api.ToolExplanation>('session', () => `sessions/${session()}/tools`)
export const useKeys = () => orgQuery<Page<Api.ListedKey>>('setup', () => 'keys?limit=200')
export const useMembers = () => orgQuery<Page<Api.Member>>('setup', () => 'members')
export const useRun = (id: () => string | null) => orgQuery<Api.RunDetail>('session', () => (id() ? `runs/${id()}` : null))

/** Agents on queues change without events of the log, so they are read often. */
const runtimeQuery = <T>(rest: string) =>
  createQuery(() => ({
    queryKey: ['runtime', org(), rest],
    queryFn: ({ signal }) => account.client.get<T>(account.path(rest), signal),
    refetchInterval: 5_000,
  }))

export const useBus = () => runtimeQuery<Api.BusStatus>('bus')
export const useQueueAgents = () => runtimeQuery<Page<Api.QueueAgent>>('queue-agents')
export const useQueueTeams = () => runtimeQuery<Page<Api.Team>>('queue-teams')
export const useQueueDelegations = () => runtimeQuery<Page<Api.Delegation>>('delegations')
export const useBusDeadLetters = () => runtimeQuery<Page<BusDeadLetter>>('bus-dead-letters')
export const useWorkItems = () => runtimeQuery<Page<WorkItem>>('work-items')
export const useQueuePlans = () => runtimeQuery<Page<WaitingPlan>>('queue-plans')

export const useWorkflows = (isShown: () => boolean) =>
  orgQuery<Page<Api.Workflow>>('workflows', () => (isShown() ? 'workflows?limit=100' : null))

/** The workflows that the organization keeps under their names. */
export const useWorkflowDefinitions = () => orgQuery<Page<Api.WorkflowResource>>('setup', () => 'workflow-definitions')

export const useWorkflow = (id: () => string) => orgQuery<Api.WorkflowDetail>('workflows', () => `workflows/${id()}`)

export const useWorkflowGraph = (id: () => string) => orgQuery<Api.WorkflowGraph>('workflows', () => `workflows/${id()}/graph`)

export const useRunHarness = (id: () => string | null) =>
  orgQuery<Api.RunHarness>('session', () => (id() ? `runs/${id()}/harness` : null))

export const useReplayPlan = (id: () => string | null) =>
  orgQuery<Api.ReplayPlan>('session', () => (id() ? `runs/${id()}/replay` : null))

export const useSpend = (days: () => number) => orgQuery<Api.SpendReport>('credits', () => `credits/spend?days=${days()}`)
/** The part of it of an agent, a model, a tool or a client. */
export const useSpendOf = (days: () => number, part: () => { kind: string; id: string } | null) =>
  createQuery(() => {
    const chosen = part()
    const isClient = chosen?.kind === 'client'
    const filter = chosen && !isClient ? `&${chosen.kind}=${encodeURIComponent(chosen.id)}` : ''
    const of = isClient ? chosen.id : org()
    return {
      queryKey: ['credits', of, 'part', days(), filter],
      queryFn: ({ signal }) => account.client.get<Api.SpendReport>(`orgs/${of}/credits/spend?days=${days()}${filter}`, signal),
      enabled: chosen !== null,
    }
  })
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

export const useDocument = (id: () => string | null) =>
  orgQuery<Api.DocumentText>('knowledge', () => (id() ? `knowledge/${id()}` : null))

export const useDocuments = () => orgQuery<Page<Document>>('knowledge', () => 'knowledge')

/** The audit log while a workflow ran. */
/** What people did with a workflow and its steps. */
export const useWorkflowAudit = (id: () => string) => orgQuery<Page<Api.AuditEntry>>('workflows', () => `audit?limit=200&object=${id()}`)
