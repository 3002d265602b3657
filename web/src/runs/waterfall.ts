/** The steps of a run as bars, one after the other, and its harness in groups. */

export interface Step {
  step: string
  name: string
  took_us: number
}

export interface Bar {
  step: string
  name: string
  /** In microseconds since the run began. */
  start: number
  end: number
}

export function bars(steps: Step[]): Bar[] {
  let at = 0
  return steps.map(({ step, name, took_us }) => {
    const start = at
    at += took_us
    return { step, name, start, end: at }
  })
}

export function microseconds(us: number): string {
  if (us < 1_000) return `${us} µs`
  return us < 1_000_000 ? `${(us / 1_000).toFixed(1)} ms` : `${(us / 1_000_000).toFixed(2)} s`
}

export interface Group {
  name: string
  value: unknown
}

const NAMES: Record<string, string> = {
  identity: 'Identity',
  soul: 'Soul',
  tool_scope: 'Tool scope',
  credit_budget: 'Credit budget',
  autonomy: 'Autonomy',
  rate_limits: 'Rate limits',
  session_context: 'Session context',
  error_state: 'Error state',
  escalation_state: 'Escalation state',
}

/** The nine groups in their order; groups that this page does not know come last. */
export function groupsOf(harness: unknown): Group[] {
  if (harness === null || typeof harness !== 'object') return []
  const all = harness as Record<string, unknown>
  const known = Object.keys(NAMES).filter((name) => name in all)
  const others = Object.keys(all).filter((name) => !(name in NAMES))
  return [...known, ...others].map((name) => ({ name: NAMES[name] ?? name, value: all[name] }))
}
