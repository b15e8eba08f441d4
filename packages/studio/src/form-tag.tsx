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

export function FormTag({ form }: { readonly form: Form }): ReactNode {
  return (
    <span className={`form form-${form}`} title={meanings[form]}>
      {form}
    </span>
  )
}
