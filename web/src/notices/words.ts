/** What a notice says, and where it leads. */

import { plain } from '../format/words.ts'
import type { Notice } from '../api/types.ts'

const TITLES: Record<string, string> = {
  models_failed: 'No model answered',
  credits_exhausted: 'The credits are used up',
  child_cap: 'A client has reached its share of the credits',
  sharing_near_cap: 'Clients have nearly used up their shared credits',
  dead_letter: 'A message failed and is tried again',
  dead_letter_abandoned: 'A message was given up',
  tool_disabled: 'A tool failed too often and is switched off',
  tool_unpaid: 'A call was too expensive for what is left',
  session_cap: 'A conversation has reached its spending cap',
  escalation: 'A customer asks for a person',
  escalation_reminder: 'A customer still waits for a person',
  escalation_unanswered: 'Nobody has answered an urgent customer',
  handoff: 'A conversation was handed to another agent',
  approval_wanted: 'A call needs approval',
  approval_expired: 'An approval came too late',
  approved_call_failed: 'An approved call failed',
  approved_call_made: 'An approved call was made; tell the customer',
  soul_proposal: 'A soul should change',
  level_proposal: 'An agent could have another autonomy level',
  no_binding: 'A reply cannot be sent: its channel is switched off',
  unknown_outcome: 'A call or message may or may not have taken effect',
  workflow_waiting: 'A workflow waits for a person',
  workflow_failed: 'A workflow failed',
  refund_requested: 'A refund has to be paid',
  issue_raised: 'An agent below sent an issue',
  issue_settled: 'An issue was decided',
  delegation_received: 'The agency gave work',
  delegation_answered: 'A client answered work',
  instruction: 'The PM gave an instruction',
  session_assigned: 'A conversation was assigned to you',
  signed_up: 'An organization signed up',
}

export function noticeTitle({ kind }: Notice): string {
  return TITLES[kind] ?? plain(kind.charAt(0).toUpperCase() + kind.slice(1))
}

/** The address of the page on which something can be done about it. */
export function noticeTarget({ kind, data }: Notice): string {
  if (typeof data.session === 'string' && !kind.startsWith('dead_letter')) return `#/inbox/${data.session}`
  if (/dead_letter|unknown_outcome|no_binding/.test(kind)) return '#/problems'
  if (/approval/.test(kind)) return '#/approvals'
  if (/credits|cap|unpaid/.test(kind)) return '#/credits'
  if (/issue|instruction/.test(kind)) return '#/layers/issues'
  if (/delegation/.test(kind)) return '#/layers/work'
  if (/soul|level/.test(kind)) return '#/layers/souls'
  if (/workflow/.test(kind)) return typeof data.workflow === 'string' ? `#/workflows/${data.workflow}` : '#/workflows'
  return '#/notices'
}

/** What happened, in the words of the server: who, and why. The title is not repeated. */
export function noticeText(notice: Notice): string {
  const title = `${noticeTitle(notice).toLowerCase()}: `
  const { message } = notice
  const text = message.toLowerCase().startsWith(title) ? message.slice(title.length) : message
  return text.charAt(0).toUpperCase() + text.slice(1)
}
