// Copies a text to the clipboard, and says so.

import { type ReactNode, useEffect, useState } from 'react'

export interface CopyButtonProps {
  /** The text, or where it comes from. */
  readonly text: string | (() => Promise<string>)
  readonly label?: string
}

export function CopyButton({ text, label = 'Copy' }: CopyButtonProps): ReactNode {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), 2500)
    return () => clearTimeout(timer)
  }, [state])
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(typeof text === 'string' ? text : await text())
      setState('copied')
    } catch {
      setState('failed')
    }
  }
  const labels = { idle: label, copied: 'Copied', failed: 'Could not copy' }
  return (
    <button type="button" className="copy" onClick={() => void copy()} aria-live="polite">
      {labels[state]}
    </button>
  )
}
