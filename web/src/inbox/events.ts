/** What happened to a conversation besides messages and calls, in words. */

import type { SessionChange, SessionEvent } from '../api/schema.ts'
import { plain } from '../format/words.ts'

/** How names are found by id. */
export interface NameLookup {
  agent: (id: string) => string
  person: (id: string | null) => string
}

export interface EventText {
  text: string
  /** More to read: a reason, or what the next agent was told. */
  detail: string | null
}

const CHANGES: Record<string, string> = {
  take_over: 'took the conversation over',
  resume: 'handed the conversation back to the agent',
  dismiss_escalation: 'dismissed the request for a person as a false alarm',
  close_session: 'closed the conversation',
  assign_team: 'assigned a team of agents',
  assign_session: 'assigned the conversation',
  unassign_session: 'left the conversation to nobody in particular',
}

export function eventText(event: SessionEvent, names: NameLookup): EventText {
  switch (event.event) {
    case 'handoff':
      return { text: `${names.agent(event.from)} handed over to ${names.agent(event.to)}: ${event.reason}`, detail: event.context_summary || null }
    case 'escalation':
      return { text: `A person is needed: ${event.reason}`, detail: null }
    case 'change':
      return changeText(event, names)
  }
}

function changeText({ by, who, action, tool, reason }: SessionChange, names: NameLookup): EventText {
  const person = by ? names.person(by) : who
  const detail = reason ?? null
  if (action === 'resume') return { text: `${person} ${CHANGES.resume}`, detail: detail && `What was settled: ${detail}` }
  if (!tool) return { text: `${person} ${CHANGES[action] ?? plain(action)}`, detail: action === 'close_session' ? null : detail }
  if (action === 'refused') return { text: `${person} tried to decide about ${plain(tool)}, but may not`, detail }
  const verb = { approve: 'approved', approve_with_changes: 'changed and approved', reject: 'rejected' }[action] ?? plain(action)
  return { text: `${person} ${verb} ${plain(tool)}`, detail: detail && `Reason: ${detail}` }
}
