// Document 002's agent template: the history settings of its chat.

import { OrielError, wrongOption } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import { assertNoSlip } from '../core/log/options.ts'
import { boolean, choice, count, object, optional } from '../core/schema/schema.ts'
import type { Policy } from '../policy/schema.ts'
import { defined, readConfig } from './read-config.ts'

const settingsSchema = object({
  historyPolicy: optional(choice('none', 'lastN', 'all')),
  historyLength: optional(count),
  preserveSystemMessages: optional(boolean),
})

/**
 * The history settings of a template as a policy. Of `chatSettings` the three history fields are read; the template's other fields are not
 * about history and stay the application's. Throws OrielError 'invalid-option' with the path of a value that does not fit.
 */
export function importAgentTemplate(template: {
  readonly chatSettings?: object | undefined
}): Policy {
  if (!isObject(template)) throw wrongOption('template', 'an agent template')
  const { chatSettings = {} } = template
  if (!isObject(chatSettings)) {
    const path = 'template.chatSettings'
    throw new OrielError('invalid-option', `${path} must be an object.`, { path })
  }
  const known = Object.keys(settingsSchema.fields)
  const of = 'An agent template'
  const top = { known: ['chatSettings'], elsewhere: known }
  assertNoSlip(template, top, { of, at: 'template' })
  const settings = { known, elsewhere: ['policy', 'length', 'chatSettings'] }
  assertNoSlip(chatSettings, settings, { of, at: 'template.chatSettings' })
  const { historyPolicy, historyLength, preserveSystemMessages } = readConfig(
    settingsSchema,
    Object.fromEntries(known.map((key) => [key, chatSettings[key]])),
    'template.chatSettings',
  )
  return {
    history: defined({ policy: historyPolicy, length: historyLength, preserveSystemMessages }),
  }
}
