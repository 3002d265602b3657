// The same events give the same view here and in the terminal UI: both reduce what they show of
// a recording to a neutral list, which is stored beside the recording.
// `crates/tui/src/tests/view.rs` is the other half. Notices are left out, because each user
// interface has words of its own for what the program itself says.

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { Call } from './calls.ts'
import type { Task, ThreadEvent } from './events.ts'
import { applyEvent, type Ask, type Cell, newTranscript, type Transcript } from './transcript.ts'

const FOLDER = new URL('../../../crates/api/fixtures/threads/', import.meta.url)
const ASKS = ['tool_approval_required', 'ask_question', 'plan_approval_required']

function call({ tool, args, status, output, result, why, agent }: Call): object {
  const view = { kind: 'call', tool, args, state: status, output, result, why }
  if (!agent) return view
  const { task, text, calls, durationMs } = agent
  return { ...view, agent: { task, text, calls: calls.map(call), ended: durationMs !== null } }
}

const tasks = (all: Task[]) => all.map((task) => ({ text: task.content, state: task.status }))

function cell(one: Cell): object[] {
  switch (one.kind) {
    case 'user':
      return [{ kind: 'user', text: one.text, attachments: one.attachments }]
    case 'answer':
      return [{ kind: 'answer', text: one.text, state: one.state }]
    case 'tool':
      return [call(one.call)]
    case 'question':
      return [{ kind: 'question', text: one.question, answer: one.answer }]
    case 'plan':
      return [{ kind: 'plan', title: one.title, text: one.plan, answer: one.verdict }]
    case 'tasks':
      return [{ kind: 'tasks', tasks: tasks(one.tasks) }]
    case 'error':
      return [{ kind: 'error', text: one.text }]
    case 'notice':
      return []
  }
}

function ask(one: Ask): object {
  switch (one.kind) {
    case 'approval':
      return { kind: 'approval', tool: one.tool, args: one.args, why: one.why, risk: one.risk }
    case 'question':
      return { kind: 'question', text: one.question, options: one.options }
    case 'plan':
      return { kind: 'plan', title: one.title, text: one.plan }
  }
}

function view(of: Transcript, after: number): object {
  return {
    after_events: after,
    activity: of.activity,
    cells: of.cells.flatMap(cell),
    asks: of.asks.map(ask),
    tasks: tasks(of.tasks),
    mode: of.mode,
    tokens: [of.usage.promptTokens, of.usage.completionTokens],
  }
}

/** The views of a recording: in the middle, at each question, and at the end. */
function views(events: ThreadEvent[]): unknown {
  const transcript = newTranscript()
  const found: object[] = []
  events.forEach((event, index) => {
    applyEvent(transcript, event)
    const after = index + 1
    const shown = ASKS.includes(event.type) || after === Math.floor(events.length / 2) || after === events.length
    if (shown) found.push(structuredClone(view(transcript, after)))
  })
  return JSON.parse(JSON.stringify(found))
}

const read = (name: string) => readFileSync(new URL(name, FOLDER), 'utf8')

test('k10 recordings give the view that the terminal UI shows', () => {
  const stored = readdirSync(FOLDER).filter((name) => name.endsWith('.view.json'))
  assert.ok(stored.length >= 15, `${stored.length} views`)
  for (const name of stored) {
    const recording = read(name.replace('.view.json', '.jsonl'))
    const events = recording.trim().split('\n').map((line) => JSON.parse(line) as ThreadEvent)
    assert.deepEqual(views(events), JSON.parse(read(name)), name)
  }
})
