/** What agents are writing at the moment, folded from the deltas of the event stream. */

import type { Delta } from '../api/types.ts'

export interface Draft {
  run: string
  agent: string
  attempt: number
  text: string
  /** A tool that the agent is calling. */
  calling: string | null
}

const encoder = new TextEncoder()

/** Returns the draft of the session after the delta; `null` if there is none any more. */
export function applyDelta(draft: Draft | null, delta: Delta): Draft | null {
  const same = draft?.run === delta.run && draft.attempt === delta.attempt ? draft : null
  const base = same ?? { run: delta.run, agent: delta.agent, attempt: delta.attempt, text: '', calling: null }
  switch (delta.delta) {
    case 'text': {
      const have = encoder.encode(base.text).length
      // A repeat of what is there, or a gap that the committed message will fill.
      if (delta.offset !== have) return same ?? (delta.offset === 0 ? { ...base, text: delta.text ?? '' } : base)
      return { ...base, agent: delta.agent, text: base.text + (delta.text ?? ''), calling: null }
    }
    case 'calling':
      return { ...base, agent: delta.agent, calling: delta.tool ?? null }
    case 'draft_discarded':
      return { ...base, text: '', attempt: delta.attempt }
    case 'over':
      return draft?.run === delta.run ? null : draft
  }
}
