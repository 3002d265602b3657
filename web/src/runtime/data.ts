/** Agents on queues: the messages that people read, and how states are shown. */

import type * as Api from '../api/schema.ts'
import { count } from '../format/words.ts'
import { duration } from '../format/time.ts'
import type { Tone } from '../ui/Badge.svelte'

/** A message on the bus, as far as people read it. */
export interface Envelope {
  message: { id: string; type: string; sent_at: number; payload: unknown }
  reference: string
  context?: { from_agent?: string; to_agent?: string; original_goal?: string }
}

export type BusDeadLetter = Omit<Api.BusDeadLetter, 'envelope'> & { envelope: Envelope | null }
export type WorkItem = Omit<Api.WorkItem, 'message'> & { message: Envelope }
export type WaitingPlan = Omit<Api.WaitingPlan, 'request'> & { request: Envelope }

const KINDS: Record<string, string> = { ai: 'AI agent', human: 'person', echo: 'echo, which repeats what it gets' }

/** What an agent is, and what it has to do. */
export function agentText({ agent_type, placement, load, concurrency }: Api.QueueAgent): string {
  const kind = KINDS[agent_type] ?? `${agent_type}, in its own process`
  const wakes = placement === 'hosted' && agent_type === 'ai' ? ', starts when a message comes' : ''
  const work = load === 0 ? 'nothing waits for it' : `${count(load, 'message')} in work or waiting`
  return `${kind}${wakes} · ${work} · ${concurrency === 1 ? 'one at a time' : `up to ${concurrency} at once`}`
}

/** Who runs at the moment. */
export function runningText({ agents, awake, in_process }: Api.BusStatus): string {
  const running = agents.length + awake
  const now = running === 0 ? 'No agent has work at the moment; each starts when a message comes.' : `${count(running, 'agent is', 'agents are')} in memory.`
  return in_process ? `${now} There is no broker: messages are kept by this server.` : now
}

export function breakerText(breaker: Api.BreakerState, now: number): { text: string; tone: Tone } {
  switch (breaker.state) {
    case 'closed':
      return breaker.failures === 0 ? { text: 'takes work', tone: 'good' } : { text: `takes work, ${breaker.failures} failed in a row`, tone: 'warn' }
    case 'open':
      return { text: `stopped after failures, tries again in ${duration(breaker.until - now)}`, tone: 'bad' }
    case 'half_open':
      return { text: 'tries one message after failures', tone: 'warn' }
  }
}

export function serviceText(service: Api.QueueService): { text: string; tone: Tone } {
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

const STATES: Record<Api.DelegationStatus, { text: string; tone: Tone }> = {
  assigned: { text: 'not begun', tone: 'neutral' },
  in_progress: { text: 'in progress', tone: 'neutral' },
  awaiting_review: { text: 'waits for review', tone: 'warn' },
  complete: { text: 'complete', tone: 'good' },
  overdue: { text: 'overdue', tone: 'bad' },
}

export const delegationText = (status: Api.DelegationStatus) => STATES[status]

/** What a person may say of work next, in the order in which it goes on. */
export function nextSteps(status: Api.DelegationStatus): { status: Api.DelegationStatus; text: string }[] {
  if (status === 'assigned') return [{ status: 'in_progress', text: 'It has begun' }]
  const isDone = { status: 'complete', text: 'It is complete' } as const
  if (status === 'in_progress') return [isDone, { status: 'awaiting_review', text: 'It waits for review' }]
  if (status === 'awaiting_review') return [isDone, { status: 'in_progress', text: 'It goes on' }]
  return status === 'overdue' ? [isDone, { status: 'in_progress', text: 'It goes on' }] : []
}

/** The names that people type, separated by commas. */
export const namesOf = (typed: string) => typed.split(',').map((name) => name.trim()).filter((name) => name !== '')
