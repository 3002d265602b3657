/** Replies that are not sent yet survive a reload. */

const PREFIX = 'ostler.draft.'

export const storedDraft = (session: string) => localStorage.getItem(PREFIX + session) ?? ''

export function storeDraft(session: string, text: string): void {
  if (text) localStorage.setItem(PREFIX + session, text)
  else localStorage.removeItem(PREFIX + session)
}
