/** What happened to a workflow, and when: its tasks, and what people did. */

import type { AuditEntry, WorkflowDetail } from '../api/schema.ts'
import { duration } from '../format/time.ts'
import { plain } from '../format/words.ts'

export interface Moment {
  key: string
  at: number
  text: string
  detail: string | null
  tone: 'good' | 'bad' | 'warn' | undefined
}

const PEOPLE: Record<string, string> = {
  start_workflow: 'started it',
  cancel_workflow: 'cancelled it',
  retry_workflow: 'let it run again',
  answer_task: 'answered',
  approve_task: 'approved',
  reject_task: 'rejected',
  skip_step: 'skipped',
  pause_step: 'paused',
  continue_step: 'continued',
}

/** `audit` has the entries of the time of the workflow, also about other things. */
export function historyOf({ workflow, tasks }: WorkflowDetail, audit: AuditEntry[]): Moment[] {
  const done = tasks.flatMap((task): Moment[] => {
    if (task.finished_at == null) return []
    const bad = task.state === 'failed'
    return [{ key: `task:${task.task}`, at: task.finished_at, text: `${task.task}: ${plain(task.state)}`, detail: task.reason ?? null, tone: bad ? 'bad' : 'good' }]
  })
  const people = audit.filter((one) => belongsTo(one, workflow.id)).map((one): Moment => {
    const task = one.subject.slice(workflow.id.length + 1)
    const verb = PEOPLE[one.action] ?? plain(one.action)
    return { key: `audit:${one.id}`, at: one.at, text: `${one.actor} ${verb}${task ? ` ${task}` : ''}`, detail: givenText(one.data), tone: undefined }
  })
  const start: Moment[] = people.some((one) => one.text.endsWith(PEOPLE.start_workflow as string))
    ? []
    : [{ key: 'start', at: workflow.created_at, text: 'It started', detail: null, tone: undefined }]
  const end: Moment[] = ['done', 'failed', 'cancelled'].includes(workflow.status)
    ? [{ key: 'end', at: workflow.updated_at, text: `It ended after ${duration(workflow.updated_at - workflow.created_at)}: ${plain(workflow.status)}`, detail: workflow.reason ?? null, tone: workflow.status === 'done' ? 'good' : 'bad' }]
    : []
  return [...start, ...[...people, ...done].sort((one, other) => one.at - other.at), ...end]
}

const belongsTo = ({ subject }: AuditEntry, id: string) => subject === id || subject.startsWith(`${id}/`)

/** What a person wrote. */
function givenText(data: unknown): string | null {
  const given = (data as { given?: Record<string, unknown> } | null)?.given
  const text = given?.text ?? given?.reason
  return typeof text === 'string' ? text : null
}
