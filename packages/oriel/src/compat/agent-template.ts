// Document 002's agent template: the history settings of its chat.

import { z } from 'zod'
import { OrielError } from '../core/log/errors.ts'
import { isObject } from '../core/log/json.ts'
import type { Policy } from '../policy/schema.ts'
import { count, defined, readConfig } from './read-config.ts'

const settingsSchema = z.strictObject({
  historyPolicy: z.enum(['none', 'lastN', 'all']).optional(),
  historyLength: count.optional(),
  preserveSystemMessages: z.boolean().optional(),
})

/**
 * The history settings of a template as a policy. Of `chatSettings` the three history fields are read; the template's other fields are not
 * about history and stay the application's. Throws OrielError 'invalid-option' with the path of a value that does not fit.
 */
export function importAgentTemplate(template: {
  readonly chatSettings?: object | undefined
}): Policy {
  const { chatSettings = {} } = template
  if (!isObject(chatSettings)) {
    const path = 'template.chatSettings'
    throw new OrielError('invalid-option', `${path} must be an object.`, { path })
  }
  const { historyPolicy, historyLength, preserveSystemMessages } = readConfig(
    settingsSchema,
    Object.fromEntries(Object.keys(settingsSchema.shape).map((key) => [key, chatSettings[key]])),
    'template.chatSettings',
  )
  return {
    history: defined({ policy: historyPolicy, length: historyLength, preserveSystemMessages }),
  }
}
