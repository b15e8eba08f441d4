// Prompts for the model that compacts one message (document 001): looked up by id, rendered from a template.

import { wrongOption } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import { assertOptions } from '../core/log/options.ts'

/** A prompt as a host gives it. */
export interface Prompt {
  readonly name: string
  /**
   * `{{ originalLength }}`, `{{ targetLength }}`, `{{ messageType }}` and `{{ turnAdded }}` are filled in. The text itself follows the
   * prompt, as data; `{{ originalContent }}` refers to it.
   */
  readonly template: string
  /** Models that it is meant for, best first; told to `summarize` as `meta.models`. @default any */
  readonly models?: readonly string[]
}

/** Rejects prompts of another shape, as options of `of`. */
export function assertPrompts(prompts: Readonly<Record<string, Prompt>>, of: string): void {
  if (!isObject(prompts)) throw wrongOption('prompts', 'an object of prompts by their ids')
  for (const [id, prompt] of Object.entries(prompts)) {
    const path = `prompts.${id}`
    assertOptions<Prompt>(prompt, { name: true, template: true, models: true }, of, path)
    if (typeof prompt.template !== 'string') throw wrongOption(path, '{ name, template, models? }')
    const { models = [] } = prompt
    const isList = Array.isArray(models) && models.every((model) => typeof model === 'string')
    if (!isList) throw wrongOption(`${path}.models`, "a list of models' names")
  }
}

/** What a template is rendered with. */
export interface PromptData {
  readonly originalLength: number
  readonly targetLength: number
  readonly messageType: string
  readonly turnAdded: number
}

/** The prompt that is used where no other is named. Without the turn: the same content then has the same summary, whenever it came. */
export const compactMessagePrompt: Prompt = {
  name: 'Compact Agent Message',
  template: `You are a message compaction specialist. Your job is to create a concise summary of one message of an agent's conversation while preserving all critical information.

The message ({{ originalLength }} characters, type: {{ messageType }}) follows.

Create a compact summary that:
1. Preserves all key information and data points: exact names, ids, numbers, paths and error messages
2. Maintains factual accuracy
3. Stays within the target length (~{{ targetLength }} characters)
4. Is clear and readable
5. Omits verbose formatting, repetition and unnecessary details

Write plain text, also where the message is JSON: extract its key data points as readable text.`,
}

/** Stands where a template names the original: what is data stays out of the instructions. */
const reference = '(the message that follows)'

/** A template with its data. What is filled in is not looked at again; what is left out stays as it was written. */
export function renderPrompt(template: string, data: Partial<PromptData>): string {
  return template.replaceAll(/\{\{\s*(\w+)\s*\}\}/g, (whole, name: string) => {
    if (name === 'originalContent') return reference
    return Object.hasOwn(data, name) ? String(data[name as keyof PromptData]) : whole
  })
}
