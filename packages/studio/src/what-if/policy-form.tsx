// A form for a policy, made from the table of its fields. What has no row there (settings by tool) is edited as JSON and stays.

import { type ReactNode, useId } from 'react'
import type { JsonObject, PolicyField } from '../contract.ts'
import { type Value, valueAt, withPart, withValue } from './policy-value.ts'

export interface PolicyFormProps {
  readonly fields: readonly PolicyField[]
  readonly policy: JsonObject
  readonly onChange: (policy: JsonObject) => void
}

const partNames: Readonly<Record<string, readonly [title: string, what: string]>> = {
  toolOutput: ['Tool output', 'Bounds every result when it comes in.'],
  retention: ['Plugin context', 'What plugins add fades with age.'],
  expiry: ['Expiry', 'Results are removed or shortened after some steps.'],
  toolResults: ['Tool results', 'The newest stay full; placeholders stand for the others.'],
  deduplication: ['Repeated lines', 'A result refers to lines that the request shows already.'],
  history: ['History window', 'Only the newest turns are sent.'],
  compaction: ['Compaction', 'One summary replaces all but the newest messages.'],
  memory: ['Memory of facts', 'The summary carries values and lines that may be needed again.'],
  tools: ['Tool definitions', 'Many tools are found by a search instead of sent.'],
  schedule: ['Schedule', 'When edits are made.'],
}

export function PolicyForm({ fields, policy, onChange }: PolicyFormProps): ReactNode {
  const parts = [...Map.groupBy(fields, ({ part }) => part)]
  return (
    <div className="policy-form">
      {parts.map(([part, own]) => {
        const [title, what] = partNames[part] ?? [wordsOf(part), '']
        const isValue = own[0]?.field === undefined
        const isOn = policy[part] !== undefined
        return (
          <fieldset key={part} className="policy-part" data-part={part}>
            <legend className="sr-only">{title}</legend>
            <label className="policy-switch">
              <input
                type="checkbox"
                checked={isOn}
                onChange={() => onChange(withPart(policy, part, isOn ? undefined : usualOf(own)))}
              />
              <b>{title}</b>
              <span className="muted small">{what}</span>
            </label>
            {isOn && (
              <div className="policy-fields">
                {own.map((field) => (
                  <Field
                    key={field.path}
                    field={field}
                    label={isValue ? title : wordsOf(field.field ?? '')}
                    value={valueAt(policy, field.path)}
                    onChange={(value) => onChange(withValue(policy, field.path, value))}
                  />
                ))}
              </div>
            )}
          </fieldset>
        )
      })}
    </div>
  )
}

/** What a part is when it is turned on: its defaults, or for a part that is a value its other choice. */
function usualOf([first]: readonly PolicyField[]): Value | JsonObject {
  return first?.field === undefined ? (first?.choices?.at(-1) ?? '') : {}
}

interface FieldProps {
  readonly field: PolicyField
  readonly label: string
  readonly value: Value | undefined
  readonly onChange: (value: Value | undefined) => void
}

function Field({ field, label, value, onChange }: FieldProps): ReactNode {
  const id = useId()
  return (
    <div className="policy-field" title={field.path}>
      <label htmlFor={id}>{label}</label>
      <FieldInput id={id} field={field} value={value} onChange={onChange} />
    </div>
  )
}

function FieldInput({
  id,
  field,
  value,
  onChange,
}: Omit<FieldProps, 'label'> & { readonly id: string }): ReactNode {
  const { kind, choices, defaultText, minimum = 0, path } = field
  if (kind === 'boolean' || kind === 'choice') {
    const options = kind === 'boolean' ? ['true', 'false'] : (choices ?? [])
    return (
      <select
        id={id}
        data-field={path}
        value={value === undefined ? '' : String(value)}
        onChange={({ target }) => {
          const text = target.value
          onChange(text === '' ? undefined : kind === 'boolean' ? text === 'true' : text)
        }}
      >
        <option value="">default: {defaultText}</option>
        {options.map((option) => (
          <option key={option}>{option}</option>
        ))}
      </select>
    )
  }
  const isNumber = kind === 'integer' || kind === 'share'
  return (
    <input
      id={id}
      data-field={path}
      type={isNumber ? 'number' : 'text'}
      {...(isNumber ? { min: minimum, step: kind === 'share' ? 0.05 : 1 } : {})}
      {...(kind === 'share' ? { max: 1 } : {})}
      placeholder={defaultText}
      value={value === undefined ? '' : String(value)}
      onChange={({ target }) => {
        const text = target.value.trim()
        onChange(text === '' ? undefined : isNumber ? Number(text) : text)
      }}
    />
  )
}

/** `keepRecentTokens` as words: "Keep recent tokens". */
function wordsOf(name: string): string {
  const words = name
    .replaceAll('.', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase()
  return words.slice(0, 1).toUpperCase() + words.slice(1)
}
