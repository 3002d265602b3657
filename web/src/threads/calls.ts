/** Tool calls of a thread, with those of the subagents that they started. */

import type { EventDetails } from './events.ts'

export type CallStatus = 'running' | 'done' | 'failed' | 'refused' | 'abandoned'

export interface Call {
  /** Unique in the transcript: turn and call, because models repeat theirs. */
  id: string
  tool: string
  args: unknown
  status: CallStatus
  /** Output of the running command; of a long one, the end. */
  output: string
  result: string
  why: string | null
  agent: AgentRun | null
}

export interface AgentRun {
  kind: string
  task: string
  text: string
  calls: Call[]
  durationMs: number | null
}

const MAX_OUTPUT_CHARS = 32_000

export const newCall = (id: string, tool: string, args: unknown): Call => {
  return { id, tool, args, status: 'running', output: '', result: '', why: null, agent: null }
}

export const newAgentRun = (kind = '', task = ''): AgentRun => {
  return { kind, task, text: '', calls: [], durationMs: null }
}

export const callId = (ext: EventDetails, call: string) => (ext.turnId ? `${ext.turnId}/${call}` : call)

export function statusOf(status: string | undefined, isError: boolean): CallStatus {
  if (status === 'rejected' || status === 'denied' || status === 'refused') return 'refused'
  return isError ? 'failed' : 'done'
}

export function findCall(calls: Call[], id: string): Call | null {
  for (const call of calls) {
    const found = call.id === id ? call : findCall(call.agent?.calls ?? [], id)
    if (found) return found
  }
  return null
}

export function addOutput(call: Call, text: string): void {
  call.output = (call.output + text).slice(-MAX_OUTPUT_CHARS)
}

/** Ends the calls of a turn that has ended without them. */
export function abandon(call: Call): void {
  for (const inner of call.agent?.calls ?? []) abandon(inner)
  if (call.status === 'running') call.status = 'abandoned'
}
