/** What a call would touch, in a few words. */

import type { BlastRadius } from '../api/schema.ts'
import { plain } from '../format/words.ts'

export function touches({ reach, is_final, lists, amounts, addresses }: BlastRadius): string[] {
  return [
    reach === 'external' ? 'acts in another system' : 'changes records of this organization',
    ...(is_final ? ['cannot be undone'] : []),
    ...lists.map((one) => `${one.entries} ${plain(one.name)}`),
    ...amounts.map((one) => `${plain(one.name)} ${one.amount}`),
    ...new Set(addresses),
  ]
}
