// Global keyboard shortcuts.

import { useEffect, useRef } from 'react'
import { chatAddress, go } from './address.ts'

export const shortcuts: readonly (readonly [keys: string, what: string])[] = [
  ['g c', 'chat'],
  ['g t', 'threads'],
  ['/', 'search, or write a message'],
  ['j, k', 'next and previous block or thread'],
  ['[, ]', 'step before and after'],
  ['Esc', 'close, or stop the answer'],
  ['?', 'this list'],
]

/** True if the key belongs to something else: text input, a browser shortcut, an open dialog. */
function isTaken({ metaKey, ctrlKey, altKey, target }: KeyboardEvent): boolean {
  if (metaKey || ctrlKey || altKey || document.querySelector('dialog[open]') !== null) return true
  // Checkboxes and sliders keep the focus after a click, but take no text.
  const fields = 'input:not([type=checkbox], [type=range]), textarea, select, [contenteditable]'
  return target instanceof HTMLElement && target.closest(fields) !== null
}

export function useShortcuts(onHelp: () => void): void {
  const isGoing = useRef(false)
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTaken(event)) return
      const wasGoing = isGoing.current
      isGoing.current = event.key === 'g'
      if (wasGoing && event.key === 'c') go(chatAddress)
      else if (wasGoing && event.key === 't') go('/threads')
      else if (event.key === '?') onHelp()
      else if (event.key === '/') focusField(event)
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [onHelp])
}

function focusField(event: KeyboardEvent): void {
  const field = document.querySelector<HTMLElement>('[data-slash]')
  if (field === null) return
  event.preventDefault()
  field.focus()
}

/** Keyboard shortcuts of one page, inactive during text input. */
export function useKeys(keys: Readonly<Record<string, () => void>>): void {
  const latest = useRef(keys)
  latest.current = keys
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (isTaken(event)) return
      const action = Object.hasOwn(latest.current, event.key)
        ? latest.current[event.key]
        : undefined
      if (action === undefined) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}
