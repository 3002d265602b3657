/** The wire types of agents on queues, and how their states are shown. */

import type { Tone } from '../ui/Badge.svelte'
import { duration } from '../format/time.ts'

export interface QueueAgent {
  name: string
  agent_type: string
  capabilities: string[]
  placement: 'pinned' | 'hosted'
  concurrency: number
  available: boolean
  load: number
}

export type BreakerState = { state: 'closed'; failures: number } | { state: 'open'; until: number } | { state: 'half_open' }

export interface BusStatus {
  condition: string
  coverage: { capability: string; available: number; unavailable: number }[]
  agents: { name: string; teams: string[]; in_progress: number; breaker: BreakerState }[]
  awake: number
  in_process: boolean
  away: string[]
  queues: { name: string; waiting: number; consumers: number; service: 'served' | 'unserved' | 'stuck' }[]
  dead_letters: number
}

export interface QueueTeam {
  name: string
  leader: string
  members: string[]
  running: string[]
  status: string
}

export interface BusDeadLetter {
  id: string
  cause: { queue: string; class: string; reason: string; attempts: number; at: number }
  envelope: Envelope | null
  body?: string
}

/** A message on the bus, as far as people read it. */
export interface Envelope {
  message: { id: string; type: string; sent_at: number; payload: unknown }
  reference: string
  context?: { from_agent?: string; to_agent?: string; original_goal?: string }
}

export interface WorkItem {
  agent: string
  message: Envelope
}

export interface WaitingPlan {
  key: { agent: string; message: string }
  plan: { reference: string; proposed_by: string; approver: string; requester: string | null }
  request: Envelope
}

export function breakerText(breaker: BreakerState, now: number): { text: string; tone: Tone } {
  switch (breaker.state) {
    case 'closed':
      return breaker.failures === 0 ? { text: 'takes work', tone: 'good' } : { text: `takes work, ${breaker.failures} failed in a row`, tone: 'warn' }
    case 'open':
      return { text: `stopped after failures, tries again in ${duration(breaker.until - now)}`, tone: 'bad' }
    case 'half_open':
      return { text: 'tries one message after failures', tone: 'warn' }
  }
}

export function serviceText(service: BusStatus['queues'][number]['service']): { text: string; tone: Tone } {
  if (service === 'served') return { text: 'served', tone: 'good' }
  return service === 'stuck' ? { text: 'stuck: nobody takes messages', tone: 'bad' } : { text: 'nobody listens', tone: 'warn' }
}

/** What a message says, if it is a text or has one. */
export function messageText({ message, context }: Envelope): string | null {
  const { payload } = message
  if (typeof payload === 'string') return payload
  const found = (payload ?? {}) as Record<string, unknown>
  const work = (found.work ?? {}) as Record<string, unknown>
  const text = [found.text, work.description, found.description, found.question, found.task].find((one) => typeof one === 'string')
  return typeof text === 'string' ? text : (context?.original_goal ?? null)
}
