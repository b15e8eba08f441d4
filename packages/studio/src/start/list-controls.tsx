// Search, order and filter of the thread list.

import { type ReactNode, useEffect, useState } from 'react'
import { chatAddress, setParams } from '../address.ts'
import type { Info } from '../contract.ts'
import { Link } from '../link.tsx'
import { useDebounced } from '../use-debounced.ts'

export interface ListControlsProps {
  readonly search: string
  readonly sort: string
  readonly model: string
  readonly models: readonly string[]
  readonly info: Info
}

export const orders = [
  ['recent', 'Newest first'],
  ['cost', 'Highest cost'],
  ['saved', 'Most saved'],
  ['size', 'Longest'],
] as const

export function ListControls({ search, sort, model, models, info }: ListControlsProps): ReactNode {
  return (
    <div className="toolbar list-controls">
      <h2>Threads</h2>
      <Search value={search} />
      <select
        aria-label="Order"
        value={sort}
        onChange={(event) => setParams({ sort: valueOr(event.target.value, 'recent') })}
      >
        {orders.map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </select>
      {models.length > 1 && (
        <select
          aria-label="Model"
          value={model}
          onChange={(event) => setParams({ model: valueOr(event.target.value, '') })}
        >
          <option value="">All models</option>
          {models.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
      <span className="spacer" />
      {info.agents.length > 0 && (
        <Link href={chatAddress} className="button primary">
          New chat
        </Link>
      )}
    </div>
  )
}

function valueOr(value: string, usual: string): string | undefined {
  return value === usual ? undefined : value
}

function Search({ value }: { readonly value: string }): ReactNode {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const apply = useDebounced(() => setParams({ search: text, count: undefined }))
  return (
    <input
      type="search"
      aria-label="Search threads"
      placeholder="Search titles and everything said"
      data-slash=""
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        apply()
      }}
    />
  )
}
