/**
 * Events of a thread fold into what is on screen: the same cells from the same events as in
 * the terminal UI (`crates/tui/src/cells`).
 */

import {
  abandon, addOutput, type Call, callId, commandFailed, findCall, newAgentRun, newCall, plainOutput, statusOf,
} from './calls.ts'
import { type EventDetails, type Task, textOf, type ThreadEvent, type ThreadMessage, type Usage } from './events.ts'

export type Cell =
  | { kind: 'user'; text: string; attachments: number }
  | { kind: 'answer'; message: string; text: string; state: 'streaming' | 'complete' | 'stopped' | 'discarded' }
  | { kind: 'tool'; call: Call }
  | { kind: 'question'; question: string; answer: string }
  | { kind: 'plan'; title: string | null; plan: string; verdict: string }
  | { kind: 'tasks'; tasks: Task[] }
  | { kind: 'error'; text: string; canRetry: boolean }
  | { kind: 'notice'; text: string }

export type Ask = { id: string } & AskKind

export type AskKind =
  | { kind: 'approval'; tool: string; args: unknown; why: string; risk: string }
  | { kind: 'question'; question: string; options: string[] }
  | { kind: 'plan'; title: string | null; plan: string }

export interface Transcript {
  cells: Cell[]
  /** What waits for an answer, the oldest first. */
  asks: Ask[]
  tasks: Task[]
  usage: Usage
  mode: string
  model: string
  activity: 'idle' | 'working' | 'interrupted'
  queued: number
  /** The number of the last stored event. */
  seen: number
  asked: AskKind | null
  pendingArgs: Record<string, unknown>
}

export const newTranscript = (): Transcript => {
  const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0 }
  return {
    cells: [], asks: [], tasks: [], usage, mode: '', model: '', activity: 'idle', queued: 0, seen: 0,
    asked: null, pendingArgs: {},
  }
}

/** Tools whose calls are shown in another form. */
const OWN_FORM = new Set(['task_write', 'task_check', 'ask_user', 'submit_plan'])

/** Takes an event. A stored event that was seen before changes nothing. */
export function applyEvent(to: Transcript, event: ThreadEvent): void {
  const { ext } = event
  if (ext.id !== undefined) {
    if (ext.id <= to.seen) return
    to.seen = ext.id
  }
  switch (event.type) {
    case 'message_start':
    case 'message_update':
      return stream(to, event.message, ext)
    case 'message_end':
      return addMessage(to, event.message)
    case 'tool_start':
    case 'tool_output':
    case 'tool_end':
      return tool(to, event)
    case 'tool_approval_required':
    case 'ask_question':
    case 'plan_approval_required':
      return ask(to, event)
    case 'ask_closed':
      to.asks = to.asks.filter((one) => one.id !== event.askId)
      return
    case 'subagent_start':
    case 'subagent_text':
    case 'subagent_end':
      return subagent(to, event)
    case 'agent_start':
      to.activity = 'working'
      return
    case 'agent_end':
      return endTurn(to, event.reason)
    case 'turn_interrupted':
      to.activity = 'interrupted'
      return notice(to, 'The last turn was interrupted.')
    default:
      return session(to, event)
  }
}

function session(to: Transcript, event: ThreadEvent): void {
  switch (event.type) {
    case 'mode_changed':
      if (to.mode && to.mode !== event.modeId) notice(to, `The mode is ${event.modeId} now.`)
      to.mode = event.modeId
      return
    case 'model_changed':
      notice(to, `The model is ${event.modelId} now.`)
      to.model = event.modelId
      return
    case 'task_updated':
      return setTasks(to, event.tasks)
    case 'usage_update':
      to.usage = event.usage
      return
    case 'follow_up_queued':
      to.queued = event.count
      return
    case 'error':
      discardDraft(to)
      to.cells.push({ kind: 'error', text: event.error, canRetry: event.retryable === true })
      return
    case 'workspace_error':
      return notice(to, `The workspace cannot be used: ${event.error}`)
    case 'context_compacted':
      return notice(to, `${event.messages} old messages have left the prompt.`)
  }
}

function notice(to: Transcript, text: string): void {
  to.cells.push({ kind: 'notice', text })
}

function setTasks(to: Transcript, tasks: Task[]): void {
  to.tasks = tasks
  const last = to.cells.at(-1)
  if (last?.kind === 'tasks' && to.activity !== 'working') last.tasks = tasks
  else if (tasks.length > 0) to.cells.push({ kind: 'tasks', tasks })
}

function endTurn(to: Transcript, reason: string): void {
  to.activity = 'idle'
  to.asks = []
  discardDraft(to)
  for (const cell of to.cells) if (cell.kind === 'tool') abandon(cell.call)
  if (reason === 'aborted') notice(to, 'Stopped.')
}

/** The text that streams in is not continued. */
function discardDraft(to: Transcript): void {
  const draft = to.cells.findLast((cell) => cell.kind === 'answer' && cell.state === 'streaming')
  if (draft?.kind === 'answer') draft.state = 'discarded'
}

function draftOf(to: Transcript, message: string) {
  const found = to.cells.findLast(
    (cell) => cell.kind === 'answer' && cell.message === message && cell.state === 'streaming',
  )
  return found?.kind === 'answer' ? found : null
}

function stream(to: Transcript, message: ThreadMessage, ext: EventDetails): void {
  if (message.role !== 'assistant') return
  const whole = textOf(message)
  const draft = draftOf(to, message.id)
  if (draft && ext.delta !== undefined && draft.text.length + ext.delta.length === whole.length) draft.text += ext.delta
  else if (draft && whole.startsWith(draft.text)) draft.text = whole
  else if (draft || whole) {
    if (draft) draft.state = 'discarded'
    to.cells.push({ kind: 'answer', message: message.id, text: whole, state: 'streaming' })
  }
}

function addMessage(to: Transcript, message: ThreadMessage): void {
  if (message.role === 'user') return addUser(to, message)
  if (message.role !== 'assistant') return
  const text = textOf(message)
  const state = message.partial ? 'stopped' : 'complete'
  const draft = draftOf(to, message.id)
  if (draft && text.startsWith(draft.text)) {
    Object.assign(draft, { text, state })
    return
  }
  if (draft) draft.state = 'discarded'
  if (text.trim()) to.cells.push({ kind: 'answer', message: message.id, text, state })
}

/** The first text is what was typed; what follows was added to it. */
function addUser(to: Transcript, message: ThreadMessage): void {
  const first = message.content.find((part) => part.type === 'text')
  const text = first?.type === 'text' ? first.text : ''
  to.cells.push({ kind: 'user', text, attachments: Math.max(0, message.content.length - 1) })
  if (to.activity === 'working' && to.queued > 0) to.queued -= 1
}

const callsOf = (to: Transcript) => to.cells.flatMap((cell) => (cell.kind === 'tool' ? [cell.call] : []))

function find(to: Transcript, id: string): Call | null {
  return findCall(callsOf(to).reverse(), id)
}

type ToolEvent = Extract<ThreadEvent, { type: 'tool_start' | 'tool_output' | 'tool_end' }>

function tool(to: Transcript, event: ToolEvent): void {
  const { ext } = event
  const id = callId(ext, event.toolCallId)
  const isOuter = (ext.path ?? []).length === 0
  if (event.type === 'tool_start') {
    if (!(OWN_FORM.has(event.toolName) && isOuter)) addCall(to, newCall(id, event.toolName, event.args), ext)
  } else if (event.type === 'tool_output') {
    const call = find(to, id)
    if (call) addOutput(call, event.text)
  } else if (OWN_FORM.has(ext.toolName ?? '') && isOuter) {
    endOwnForm(to, ext.toolName ?? '', event.result, event.isError)
  } else {
    endCall(to, id, event)
  }
}

function addCall(to: Transcript, call: Call, ext: EventDetails): void {
  const path = ext.path ?? []
  const parent = path.length > 0 ? find(to, callId(ext, path.join('/'))) : null
  if (!parent) {
    to.cells.push({ kind: 'tool', call })
    return
  }
  parent.agent ??= newAgentRun()
  parent.agent.calls.push(call)
}

function endCall(to: Transcript, id: string, { result, isError, ext }: Extract<ThreadEvent, { type: 'tool_end' }>): void {
  // A call that was refused has no start.
  if (!find(to, id)) addCall(to, newCall(id, ext.toolName ?? '', to.pendingArgs[id] ?? null), ext)
  const call = find(to, id)
  if (!call) return
  const status = commandFailed(call.tool, result) ? 'failed' : statusOf(ext.status, isError)
  Object.assign(call, { status, result: plainOutput(result), output: '', why: ext.why ?? null })
}

/** A question or a plan has its answer. */
function endOwnForm(to: Transcript, name: string, result: string, isError: boolean): void {
  const asked = to.asked
  to.asked = null
  if (name === 'ask_user' && asked?.kind === 'question') {
    to.cells.push({ kind: 'question', question: asked.question, answer: result })
  } else if (name === 'submit_plan' && asked?.kind === 'plan') {
    to.cells.push({ kind: 'plan', title: asked.title, plan: asked.plan, verdict: result })
  } else if (isError) notice(to, `${name}: ${result}`)
}

type AskEvent = Extract<ThreadEvent, { type: 'tool_approval_required' | 'ask_question' | 'plan_approval_required' }>

function ask(to: Transcript, event: AskEvent): void {
  const { id, ...kind } = askOf(event)
  if (event.type === 'tool_approval_required') to.pendingArgs[callId(event.ext, event.toolCallId)] = event.args
  else to.asked = kind as AskKind
  to.activity = 'working'
  to.asks = [...to.asks.filter((one) => one.id !== id), { id, ...kind } as Ask]
}

function askOf(event: AskEvent): Ask {
  switch (event.type) {
    case 'tool_approval_required': {
      const { why = '', risk = '' } = event.ext
      return { id: event.toolCallId, kind: 'approval', tool: event.toolName, args: event.args, why, risk }
    }
    case 'ask_question':
      return { id: event.questionId, kind: 'question', question: event.question, options: event.options ?? [] }
    case 'plan_approval_required':
      return { id: event.planId, kind: 'plan', title: event.title ?? null, plan: event.plan }
  }
}

type SubagentEvent = Extract<ThreadEvent, { type: 'subagent_start' | 'subagent_text' | 'subagent_end' }>

function subagent(to: Transcript, event: SubagentEvent): void {
  const call = find(to, callId(event.ext, (event.ext.path ?? []).join('/')))
  if (!call) return
  if (event.type === 'subagent_start') call.agent = newAgentRun(event.agentType, event.task)
  call.agent ??= newAgentRun()
  if (event.type === 'subagent_text') call.agent.text += event.text
  if (event.type === 'subagent_end') call.agent.durationMs = event.durationMs
}
