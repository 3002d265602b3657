/**
 * Folds the messages and runs of a session into the entries of its transcript, in the order
 * in which a reader follows them: what the customer wrote, what the agents then did, what
 * they answered.
 */

import type { SessionNote } from '../api/schema.ts'
import type { Approval, Message, Run, SessionDetail, ToolDecision } from '../api/types.ts'

export type Entry =
  | { kind: 'message'; message: Message }
  | { kind: 'call'; agent: string; layer: number; decision: ToolDecision; approval: Approval | null }
  | { kind: 'run_end'; run: Run }
  | { kind: 'note'; note: SessionNote }
  | { kind: 'day'; at: number }

const SILENT_OUTCOMES = new Set(['answered', 'escalated', 'held', 'handed_off', 'housekeeping'])

export function timeline({ messages, runs, approvals }: SessionDetail, notes: SessionNote[] = []): Entry[] {
  const waiting = [...notes]
  const until = (at: number) => {
    const due: Entry[] = []
    while (waiting[0] && waiting[0].created_at < at) due.push({ kind: 'note', note: waiting.shift() as SessionNote })
    return due
  }
  const byId = new Map(runs.map((run) => [run.id, new RunCalls(run, approvals)]))
  const entries: Entry[] = []
  let last: RunCalls | null = null
  let day = ''
  for (const message of messages) {
    const calls = (message.run && byId.get(message.run)) || null
    if (last && last !== calls) entries.push(...last.rest())
    entries.push(...until(message.at))
    const today = new Date(message.at).toDateString()
    if (today !== day) entries.push({ kind: 'day', at: message.at })
    day = today
    if (calls && message.author.role === 'agent') entries.push(...calls.until(message.author.agent))
    entries.push({ kind: 'message', message })
    last = calls
  }
  if (last) entries.push(...last.rest())
  return [...entries, ...until(Infinity)]
}

/** The calls of a run that are not in the transcript yet. */
class RunCalls {
  readonly #run: Run
  readonly #approvals: Approval[]
  #turn = 0
  #ended = false

  constructor(run: Run, approvals: Approval[]) {
    this.#run = run
    this.#approvals = approvals
  }

  /** Calls of all turns up to the one in which this agent speaks. */
  until(agent: string): Entry[] {
    const at = this.#run.turns.findIndex((turn, index) => index >= this.#turn && turn.agent === agent)
    return at < 0 ? [] : this.#take(at + 1)
  }

  /** The remaining calls, and how the run ended if it did not end with an answer. */
  rest(): Entry[] {
    const entries = this.#take(this.#run.turns.length)
    if (!this.#ended && !SILENT_OUTCOMES.has(this.#run.outcome)) {
      entries.push({ kind: 'run_end', run: this.#run })
    }
    this.#ended = true
    return entries
  }

  #take(end: number): Entry[] {
    const turns = this.#run.turns.slice(this.#turn, end)
    this.#turn = Math.max(this.#turn, end)
    return turns.flatMap((turn) =>
      turn.decisions.map((decision): Entry => {
        const { agent, business_layer: layer } = turn
        return { kind: 'call', agent, layer, decision, approval: this.#approvalOf(agent, decision) }
      }),
    )
  }

  #approvalOf(agent: string, { tool, arguments: args, decision }: ToolDecision): Approval | null {
    if (decision !== 'ask') return null
    const same = (one: Approval) =>
      one.agent === agent && one.tool === tool && JSON.stringify(one.arguments) === JSON.stringify(args)
    return this.#approvals.find(same) ?? null
  }
}
