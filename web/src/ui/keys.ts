/** Keys that act without a modifier must not act while somebody types or a dialog is open. */

/** Returns the key, unless it belongs to a text, a dialog or the browser. */
export function plainKey(event: KeyboardEvent): string | null {
  const { target } = event
  const isText = target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  if (isText || event.ctrlKey || event.metaKey || event.altKey) return null
  return document.querySelector('dialog[open]') && event.key !== '?' ? null : event.key
}
