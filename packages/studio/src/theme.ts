// Theme: light, dark, or the system's.

export type Theme = 'system' | 'light' | 'dark'

const name = 'oriel-theme'
const order: readonly Theme[] = ['system', 'light', 'dark']

export function readTheme(): Theme {
  const held = localStorage.getItem(name)
  return order.find((theme) => theme === held) ?? 'system'
}

export function applyTheme(theme: Theme = readTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  dispatchEvent(new Event('oriel-theme'))
}

export function nextTheme(theme: Theme): Theme {
  const next = order[(order.indexOf(theme) + 1) % order.length] ?? 'system'
  localStorage.setItem(name, next)
  applyTheme(next)
  return next
}
