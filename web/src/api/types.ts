/** The wire types that the pages use (`crates/api`). */

import type { MessagePreview, SessionEvent } from './schema.ts'

export interface Page<T> {
  items: T[]
  next?: string
}

export type Role = 'viewer' | 'operator' | 'admin' | 'owner' | 'platform_admin'

/** An organization in which the caller works. */
export interface OrgAccess {
  org: string
  slug: string
  name: string
  role: Role
  relation: 'own' | 'child' | 'parent' | 'unrelated'
}

export type Me =
  | { kind: 'key'; key: string; name: string; org: string; slug: string; role: Role }
  | { kind: 'user'; user: string; email: string; name: string; login: string; orgs: OrgAccess[] }

export interface LoginProvider {
  name: string
  url: string
}

/** What a one-time code is for. */
export interface Activation {
  kind: 'password' | 'invitation'
  email: string
  org?: string
  needs_password: boolean
}

export interface Activated {
  email: string
  logged_in: boolean
}

export type Urgency = 'low' | 'normal' | 'high'

export interface Escalation {
  id: string
  status: 'pending' | 'taken_over' | 'resolved' | 'dismissed' | 'timed_out'
  urgency: Urgency
  reason: string
  context_summary: string
  requested_at: number
  taken_over_by: string | null
  taken_over_at: number | null
}

export interface Session {
  id: string
  org: string
  conversation: string
  channel: string
  binding: string
  peer: { person: string } | { group: string }
  name: string | null
  contact: string | null
  status: 'active' | 'handed_off' | 'closed'
  closed: unknown
  agent: string | null
  opened_at: number
  messages: number
  pending_approvals: number
  unknown_outcomes: number
  escalation: Escalation | null
  summary: string | null
}

/** A session of the list, as the caller sees it. */
export interface ListedSession extends Session {
  assignee: string | null
  notes: number
  unread: number
  last_message?: MessagePreview | null
}

export interface QueuedEscalation {
  escalation: Escalation
  session: Session
}

export type Author =
  | { role: 'customer'; name: string | null }
  | { role: 'agent'; agent: string }
  | { role: 'human'; user: string }
  | { role: 'system' }

export interface MessagePart {
  type: string
  text?: string
  name?: string
  [key: string]: unknown
}

export interface Message {
  at: number
  author: Author
  text: string
  parts: MessagePart[]
  purpose: string
  run: string | null
}

export interface ToolDecision {
  call: string
  tool: string
  decision: 'allow' | 'ask' | 'deny'
  verdict: string
  arguments: unknown
  outcome: { status: string; text: string } | null
}

export interface RunTurn {
  agent: string
  business_layer: number
  decisions: ToolDecision[]
}

export interface Run {
  id: string
  at: number
  outcome: string
  turns: RunTurn[]
  credits: number
}

export interface Approval {
  id: string
  session: string
  agent: string
  tool: string
  arguments: unknown
  risk: 'read' | 'write' | 'destructive'
  why: unknown
  requested_at: number
  expires_at: number
  status: 'pending' | 'approved' | 'used' | 'rejected' | 'expired' | 'withdrawn'
  by?: string
  reason?: string
}

export interface SessionDetail {
  session: Session
  messages: Message[]
  runs: Run[]
  approvals: Approval[]
  timeline?: SessionEvent[]
}

export interface Notice {
  id: string
  kind: string
  subject: string
  data: Record<string, unknown>
  /** What happened, in a sentence. */
  message: string
  created_at: number
  read_at: number | null
}

export interface DeadLetter {
  id: string
  conversation: string
  fault: 'dead' | 'outcome_unknown'
  reason: string
  attempts: number
  at: number
  message: unknown
}

export interface UnknownOutcome {
  id: string
  tool: string
  arguments: unknown
  conversation: string
  run: string
  at: number
}

export interface Pool {
  pool: string
  granted: number
  available: number
  reserved: number
  spent: number
  expired: number
}

export interface CreditAccount {
  available: number | null
  pools: Pool[]
}

export interface LedgerLine {
  id: number
  at: number
  amount: number
  kind: 'grant' | 'expense'
  pool: string | null
  reference: string | null
}

/** Text that an agent is writing, or the end of such a draft. */
export interface Delta {
  session: string
  run: string
  agent: string
  attempt: number
  delta: 'text' | 'draft_discarded' | 'calling' | 'over'
  /** In bytes of UTF-8. */
  offset?: number
  text?: string
  tool?: string
}

/** One side of an exchange between business layers. */
export interface Party {
  org: string
  agent: string
  business_layer: number
}

export interface Issue {
  id: string
  created_at: number
  sender: string
  source: Party
  target: Party
  session: string | null
  summary: string
  severity: string
  context: string
  status: 'pending' | 'acknowledged' | 'resolved' | 'dismissed'
  resolution?: string
}

export interface OrgDelegation {
  id: string
  created_at: number
  sender: string
  source: string
  target: string
  instruction: string
  priority: string
  status: 'pending' | 'accepted' | 'rejected' | 'completed'
  result?: string
}

export interface Insight {
  id: string
  created_at: number
  sender: string
  insight: string
  category: string
  evidence: string | null
  acknowledged_at: number | null
}

export interface Soul {
  personality: string
  traits: string[]
  communication_style: string
  core_values: string[]
  never_do: string[]
  always_do: string[]
  escalation_triggers: string[]
  soul_markdown: string
}

export interface SoulProposal {
  id: string
  target: string
  base_version: number
  soul: Soul
  rationale: string
  made_at: number
  expires_at: number
  status: string
  author: Record<string, string>
  soul_before?: Soul
}

export interface Document {
  id: string
  title: string
  tags: string[]
  /** In bytes. */
  size: number
  updated_at: number
}
