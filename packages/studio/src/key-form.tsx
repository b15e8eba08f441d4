// API key form, shown if the gateway requires a key. The key stays in this tab.

import { type FormEvent, type ReactNode, useState } from 'react'
import { key } from './api.ts'

export function KeyForm({ onSaved }: { readonly onSaved: () => void }): ReactNode {
  const [value, setValue] = useState('')
  const onSubmit = (event: FormEvent): void => {
    event.preventDefault()
    key.write(value.trim())
    onSaved()
  }
  return (
    <form className="notice key-form" onSubmit={onSubmit}>
      <label htmlFor="key">This gateway needs a key.</label>
      <input
        id="key"
        type="password"
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.target.value)}
      />
      <p>It is kept in this tab only, and sent in a header.</p>
      <button type="submit" className="primary" disabled={value.trim() === ''}>
        Continue
      </button>
      {key.read() !== undefined && <p role="alert">The key in this tab was refused.</p>}
    </form>
  )
}
