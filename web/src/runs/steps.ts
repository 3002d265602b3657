/** The steps of a run, one after the other. */

import type { PathCall, PlannedTurn } from '../api/schema.ts'

export type Step =
  | { kind: 'prompt'; agent: string; prompt: string }
  | { kind: 'call'; agent: string; call: PathCall }
  | { kind: 'end'; agent: string; end: string; words: string; credits: number }

export function stepsOf(turns: PlannedTurn[]): Step[] {
  return turns.flatMap(({ agent, prompt, recorded }): Step[] => [
    { kind: 'prompt', agent, prompt },
    ...recorded.calls.map((call): Step => ({ kind: 'call', agent, call })),
    { kind: 'end', agent, end: recorded.end, words: recorded.words, credits: recorded.credits },
  ])
}
