// Message composer of the chat.

import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useKeys } from '../keyboard.ts'

export interface ComposerProps {
  readonly isBusy: boolean
  readonly isReady: boolean
  readonly onSay: (text: string) => void
  readonly onStop: () => void
}

export function Composer({ isBusy, isReady, onSay, onStop }: ComposerProps): ReactNode {
  const [text, setText] = useState('')
  useKeys(isBusy ? { Escape: onStop } : {})
  const say = (): void => {
    if (text.trim() === '' || isBusy || !isReady) return
    onSay(text.trim())
    setText('')
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape' && isBusy) onStop()
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    say()
  }
  return (
    <form
      className="composer"
      onSubmit={(event) => {
        event.preventDefault()
        say()
      }}
    >
      <textarea
        aria-label="Message"
        placeholder="Ask something. Enter sends, Shift+Enter makes a new line."
        rows={2}
        value={text}
        data-slash=""
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      {isBusy ? (
        <button type="button" onClick={onStop}>
          Stop
        </button>
      ) : (
        <button type="submit" className="primary" disabled={text.trim() === '' || !isReady}>
          Send
        </button>
      )}
    </form>
  )
}
