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
  readonly agent: string
  readonly agents: readonly string[]
  readonly info: Info
}

const orders = [
  ['recent', 'Newest first'],
  ['cost', 'Highest cost'],
  ['saved', 'Most saved'],
  ['size', 'Longest'],
] as const

export function ListControls(props: ListControlsProps): ReactNode {
  const { search, sort, model, models, agent, agents, info } = props
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
      <Choice name="agent" label="Agent" all="All agents" value={agent} values={agents} />
      <Choice name="model" label="Model" all="All models" value={model} values={models} />
      <span className="spacer" />
      {info.agents.length > 0 && (
        <Link href={chatAddress} className="button primary">
          New chat
        </Link>
      )}
    </div>
  )
}

interface ChoiceProps {
  /** In the address. */
  readonly name: string
  readonly label: string
  readonly all: string
  /** Empty for all. */
  readonly value: string
  readonly values: readonly string[]
}

/** A filter by one of several values; not shown where there is nothing to choose. */
function Choice({ name, label, all, value, values }: ChoiceProps): ReactNode {
  if (values.length < 2 && value === '') return null
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => setParams({ [name]: valueOr(event.target.value, '') })}
    >
      <option value="">{all}</option>
      {values.map((one) => (
        <option key={one}>{one}</option>
      ))}
    </select>
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
