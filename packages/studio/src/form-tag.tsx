// Tag that shows the form of a block.

import type { ReactNode } from 'react'
import type { Form } from './contract.ts'

const meanings: Readonly<Record<Form, string>> = {
  full: 'The model sees it whole.',
  clipped: 'The model sees a part of it.',
  summarized: 'The model sees a summary in its place.',
  omitted: 'The model sees a placeholder in its place.',
  dropped: 'The model does not see it.',
}

export interface FormTagProps {
  readonly form: Form
  /** What `compaction` drops is in the summary. */
  readonly rule?: string | undefined
}

export function FormTag({ form, rule }: FormTagProps): ReactNode {
  const isFolded = form === 'dropped' && rule === 'compaction'
  return (
    <span
      className={`form form-${isFolded ? 'summarized' : form}`}
      title={isFolded ? 'The summary stands for it.' : meanings[form]}
    >
      {isFolded ? 'folded' : form}
    </span>
  )
}
