/** Which data an event of the log makes out of date. */

export type Topic = 'sessions' | 'session' | 'approvals' | 'notices' | 'problems' | 'credits' | 'layers' | 'threads' | 'knowledge' | 'setup' | 'workflows' | 'runtime'

const TOPICS: Record<string, Topic[]> = {
  message: ['sessions', 'session'],
  run: ['sessions', 'session', 'credits', 'problems'],
  session_assigned: ['sessions', 'session', 'notices'],
  workflow_started: ['workflows'],
  workflow_step: ['workflows'],
  workflow_waiting: ['workflows', 'approvals', 'notices'],
  workflow_ended: ['workflows', 'notices'],
  note_added: ['sessions', 'session'],
  note_deleted: ['sessions', 'session'],
  approval_wanted: ['approvals', 'sessions', 'session', 'notices'],
}

/** An event of a kind that this dashboard does not know may concern anything. */
const ALL: Topic[] = ['sessions', 'session', 'approvals', 'notices', 'problems', 'credits', 'layers', 'setup', 'workflows']

export function topicsOf(kind: string): Topic[] {
  return TOPICS[kind] ?? ALL
}
