// Filters of the inspector: by text, by tool or rule, changed rows, errors. They stand in the address.

import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { setParams, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { OutlineRow } from '../contract.ts'
import { useDebounced } from '../use-debounced.ts'
import { useLoad } from '../use-load.ts'
import { categoryNames } from './context-bar.tsx'
import type { Filter } from './rows.ts'

/** Messages that a search in one thread may find. */
const maxFound = 100

export function useFilter(thread: string): Filter {
  const { params } = useAddress()
  const text = params.get('find') ?? ''
  const show = showIn(params)
  const only = params.get('only') ?? undefined
  const of = params.get('of') ?? undefined
  const found = useLoad(text.trim() === '' ? undefined : `${thread} ${text}`, (signal) =>
    api.search(text, { thread, limit: maxFound }, signal),
  )
  const results = found.data?.results
  return useMemo(() => {
    const found = results?.map(({ seq }) => seq)
    return { show, only, of, found }
  }, [show, only, of, results])
}

function showIn(params: URLSearchParams): Filter['show'] {
  const show = params.get('show')
  return show === 'changed' || show === 'errors' ? show : 'all'
}

export function Filters({ rows }: { readonly rows: readonly OutlineRow[] }): ReactNode {
  const { params } = useAddress()
  const show = showIn(params)
  const of = params.get('of') ?? ''
  const only = params.get('only')
  const { tools, rules } = useMemo(() => namesIn(rows), [rows])
  return (
    <div className="filters">
      <Find value={params.get('find') ?? ''} />
      <select
        aria-label="Rows"
        value={show}
        onChange={(event) =>
          setParams({ show: event.target.value === 'all' ? undefined : event.target.value })
        }
      >
        <option value="all">All rows</option>
        <option value="changed">Changed only</option>
        <option value="errors">Errors only</option>
      </select>
      {tools.length + rules.length > 0 && (
        <select
          aria-label="Tool or rule"
          value={of}
          onChange={(event) => setParams({ of: event.target.value })}
        >
          <option value="">Every tool and rule</option>
          {tools.length > 0 && (
            <optgroup label="Tool">
              {tools.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </optgroup>
          )}
          {rules.length > 0 && (
            <optgroup label="Rule">
              {rules.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </optgroup>
          )}
        </select>
      )}
      {only !== null && (
        <button type="button" className="chip" onClick={() => setParams({ only: undefined })}>
          {Object.hasOwn(categoryNames, only)
            ? categoryNames[only as keyof typeof categoryNames]
            : 'Filter'}{' '}
          ✕<span className="sr-only">Remove the filter</span>
        </button>
      )}
    </div>
  )
}

function Find({ value }: { readonly value: string }): ReactNode {
  const [text, setText] = useState(value)
  useEffect(() => setText(value), [value])
  const apply = useDebounced(() => setParams({ find: text }))
  return (
    <input
      type="search"
      aria-label="Find in this thread"
      placeholder="Find in this thread"
      data-slash=""
      value={text}
      onChange={(event) => {
        setText(event.target.value)
        apply()
      }}
    />
  )
}

function namesIn(rows: readonly OutlineRow[]): {
  readonly tools: readonly string[]
  readonly rules: readonly string[]
} {
  const tools = new Set<string>()
  const rules = new Set<string>()
  for (const row of rows) {
    if (row.type === 'block' && row.tool !== undefined) tools.add(row.tool)
    if (row.type === 'folded') for (const name of row.tools) tools.add(name)
    if ('rule' in row && row.rule !== undefined) rules.add(row.rule)
  }
  return { tools: [...tools].sort(), rules: [...rules].sort() }
}
