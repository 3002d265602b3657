/** The beginning of the last message of a conversation, with who wrote it. */

import type { MessagePreview } from '../api/schema.ts'
import type { NameLookup } from './events.ts'

export function previewText({ author, text }: MessagePreview, names: NameLookup): string {
  const line = text.replace(/\s+/g, ' ')
  if (author.role === 'agent') return `${names.agent(author.agent)}: ${line}`
  if (author.role === 'human') return `${names.person(author.user)}: ${line}`
  return line
}
