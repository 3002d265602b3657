/** Light, dark, or as the system says. */

export type Theme = 'system' | 'light' | 'dark'

const STORED = 'ostler.theme'
const ORDER: Theme[] = ['system', 'light', 'dark']

export function storedTheme(): Theme {
  const theme = localStorage.getItem(STORED)
  return theme === 'light' || theme === 'dark' ? theme : 'system'
}

export function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  localStorage.setItem(STORED, theme)
}

export const nextTheme = (theme: Theme): Theme => ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length] ?? 'system'
