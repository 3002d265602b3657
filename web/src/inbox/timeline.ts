/**
 * Folds the messages and runs of a session into the entries of its transcript, in the order
 * in which a reader follows them: what the customer wrote, what the agents then did, what
 * they answered.
 */

import type { SessionEvent, SessionNote } from '../api/schema.ts'
import type { Approval, Message, Run, SessionDetail, ToolDecision } from '../api/types.ts'

export type Entry =
  | { kind: 'message'; message: Message }
  | { kind: 'call'; agent: string; layer: number; decision: ToolDecision; approval: Approval | null }
  | { kind: 'run_end'; run: Run }
  | { kind: 'note'; note: SessionNote }
  | { kind: 'event'; event: SessionEvent }
  | { kind: 'day'; at: number }

const SILENT_OUTCOMES = new Set(['answered', 'escalated', 'held', 'handed_off', 'housekeeping'])

export function timeline({ messages, runs, approvals, timeline: events = [] }: SessionDetail, notes: SessionNote[] = []): Entry[] {
  const waiting = besides(events, notes)
  const until = (at: number) => {
    const due: Entry[] = []
    while (waiting[0] && waiting[0].at < at) due.push((waiting.shift() as Timed).entry)
    return due
  }
  const byId = new Map(runs.map((run) => [run.id, new RunCalls(run, approvals)]))
  const entries: Entry[] = []
  let last: RunCalls | null = null
  let day = ''
  for (const message of messages) {
    const calls = (message.run && byId.get(message.run)) || null
    if (last && last !== calls) entries.push(...last.rest())
    const answered = message.author.role === 'agent' ? calls : null
    if (!answered || answered.isOfApproval) entries.push(...until(message.at))
    const today = new Date(message.at).toDateString()
    if (today !== day) entries.push({ kind: 'day', at: message.at })
    day = today
    if (answered && message.author.role === 'agent') entries.push(...answered.until(message.author.agent), ...until(message.at))
    entries.push({ kind: 'message', message })
    last = calls
  }
  if (last) entries.push(...last.rest())
  return [...entries, ...until(Infinity)]
}

/** Entries with keys that stay the same when others are added between them. */
export function keyed(entries: Entry[]): { key: string; entry: Entry }[] {
  const seen = new Map<string, number>()
  return entries.map((entry) => {
    const name = nameOf(entry)
    const count = seen.get(name) ?? 0
    seen.set(name, count + 1)
    return { key: `${name} ${count}`, entry }
  })
}

function nameOf(entry: Entry): string {
  switch (entry.kind) {
    case 'message':
      return `message ${entry.message.at} ${entry.message.author.role}`
    case 'call':
      return `call ${entry.agent} ${entry.decision.call}`
    case 'run_end':
      return `run_end ${entry.run.id}`
    case 'note':
      return `note ${entry.note.id}`
    case 'event':
      return `event ${entry.event.at} ${entry.event.event}`
    case 'day':
      return `day ${entry.at}`
  }
}

/** What is not shown because the notes themselves are. */
const isShown = (event: SessionEvent) => event.event !== 'change' || !/^(add|delete)_note$/.test(event.action)

interface Timed {
  at: number
  entry: Entry
}

/** Notes and events, oldest first. */
function besides(events: SessionEvent[], notes: SessionNote[]): Timed[] {
  const all: Timed[] = [
    ...events.filter(isShown).map((event): Timed => ({ at: event.at, entry: { kind: 'event', event } })),
    ...notes.map((note): Timed => ({ at: note.created_at, entry: { kind: 'note', note } })),
  ]
  return all.sort((one, other) => one.at - other.at)
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

  /** Whether a person's approval began it: the decision stands before the call. */
  get isOfApproval(): boolean {
    return this.#turn === 0 && this.#run.turns[0]?.decisions[0]?.verdict === 'approved by a person'
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
