/** What happens next without anybody doing something: workflows that continue, and decisions that expire. */

import type { Workflow } from '../api/schema.ts'
import type { Approval } from '../api/types.ts'
import { plain } from '../format/words.ts'

export interface Upcoming {
  key: string
  at: number
  title: string
  text: string
  href: string
}

export function upcoming(workflows: Workflow[], approvals: Approval[]): Upcoming[] {
  const continuing = workflows.flatMap((one): Upcoming[] => {
    if (one.continues_at == null) return []
    const href = `#/workflows/${one.id}`
    const text = one.waiting_tasks.length > 0 ? `stops waiting for ${one.waiting_tasks.join(', ')}` : `continues, ${one.finished_steps} of ${one.steps} steps are done`
    return [{ key: one.id, at: one.continues_at, title: `Workflow ${one.name}`, text, href }]
  })
  const expiring = approvals.map((one): Upcoming => {
    return { key: one.id, at: one.expires_at, title: `Approval of ${plain(one.tool)}`, text: 'expires unless somebody decides', href: '#/approvals' }
  })
  return [...continuing, ...expiring].sort((one, other) => one.at - other.at)
}

/** How long a failed workflow is a problem. */
const RECENT_MS = 24 * 60 * 60_000

/** What failed, each with the page where something can be done about it. */
export interface Failed {
  key: string
  title: string
  text: string
  at: number
  href: string
}

export function failures(
  letters: { id: string; reason: string; at: number }[],
  unknown: { id: string; tool: string; at: number }[],
  workflows: Workflow[],
  now: number,
): Failed[] {
  // One that failed long ago is history: nobody has to do anything about it.
  const failed = workflows.filter((one) => one.status === 'failed' && now - one.updated_at < RECENT_MS)
  return [
    ...letters.map((one) => ({ key: one.id, title: 'A message failed', text: one.reason, at: one.at, href: '#/problems' })),
    ...unknown.map((one) => ({ key: one.id, title: `The outcome of ${plain(one.tool)} is unknown`, text: 'somebody has to look', at: one.at, href: '#/problems' })),
    ...failed.map((one) => ({ key: one.id, title: `Workflow ${one.name} failed`, text: one.reason ?? '', at: one.updated_at, href: `#/workflows/${one.id}` })),
  ].sort((one, other) => other.at - one.at)
}
