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

/** Returns whether a command ended with another exit code than zero. */
export function commandFailed(tool: string, result: string): boolean {
  const code = /(?:^|\n)\[exit code (.*)\]\n?$/.exec(result)?.[1]
  return tool === 'run_command' && code !== undefined && code !== '0'
}

export function findCall(calls: Call[], id: string): Call | null {
  for (const call of calls) {
    const found = call.id === id ? call : findCall(call.agent?.calls ?? [], id)
    if (found) return found
  }
  return null
}

/** Returns what stays of a line that was written over, such as that of a progress bar. */
function lastWritten(line: string): string {
  let end = line.length
  while (line[end - 1] === '\r') end -= 1
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}

/** Returns the output of a program without what only a terminal understands: colours, titles, control characters. */
export const plainOutput = (text: string) =>
  text
    .replace(/(?:\x1b\[|\x9b)[ -?]*[@-~]?/g, '')
    .replace(/(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x9c\x1b\n]*(?:\x07|\x9c|\x1b\\?)?/g, '')
    .replace(/\x1b[ -/]*[0-~]?/g, '')
    .split('\n')
    .map(lastWritten)
    .join('\n')
    .replace(/\t/g, '    ')
    .replace(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '')
    .replace(/[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g, '')

export function addOutput(call: Call, text: string): void {
  call.output = (call.output + plainOutput(text)).slice(-MAX_OUTPUT_CHARS)
}

/** Ends the calls of a turn that has ended without them. */
export function abandon(call: Call): void {
  for (const inner of call.agent?.calls ?? []) abandon(inner)
  if (call.status === 'running') Object.assign(call, { status: 'abandoned', output: '' })
}
