// Agent templates, and what was stored for them since: stored settings win over the file.

import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { OrielError, type Store } from 'oriel'
import { z } from 'zod'
import { KeyLog } from './key-log.ts'
import type { AgentOptions } from './options.ts'
import { type Agents, checkAgentName } from './settings.ts'

export const chatSettingsSchema = z.strictObject({
  historyPolicy: z.enum(['lastN', 'all', 'none']).optional(),
  historyLength: z.number().int().min(0).optional(),
})
export type ChatSettings = z.infer<typeof chatSettingsSchema>

export class AgentBook implements Agents {
  readonly #templates: ReadonlyMap<string, AgentOptions>
  /** Templates with what was stored for them. */
  readonly #changed = new Map<string, AgentOptions>()
  readonly #log: KeyLog

  constructor(templates: Readonly<Record<string, AgentOptions>>, store: Store) {
    for (const name of Object.keys(templates)) checkAgentName(name)
    this.#templates = new Map(Object.entries(templates))
    this.#log = new KeyLog(store, { tenant: 'index:', thread: 'agents' }, ({ agent, settings }) => {
      const parsed = chatSettingsSchema.safeParse(settings)
      const template = this.#templates.get(String(agent))
      if (!parsed.success || template === undefined) return
      const chatSettings = { ...this.get(String(agent))?.chatSettings, ...parsed.data }
      this.#changed.set(String(agent), { ...template, chatSettings })
    })
  }

  get names(): readonly string[] {
    return [...this.#templates.keys()]
  }

  get(name: string): AgentOptions | undefined {
    return this.#changed.get(name) ?? this.#templates.get(name)
  }

  /** Reads what was stored before. */
  load(): Promise<void> {
    return this.#log.refresh()
  }

  async store(agent: string, settings: ChatSettings, at: number): Promise<void> {
    const known = Object.fromEntries(
      Object.entries(settings).filter(([, value]) => value !== undefined),
    ) as Record<string, string | number>
    await this.#log.add({ agent, settings: known }, at)
  }
}

/** The templates in a folder: `support.json` is the agent `support`. */
export function readAgents(folder: string): Readonly<Record<string, AgentOptions>> {
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'))
  return Object.fromEntries(
    files.map((file) => {
      try {
        const value: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'))
        if (typeof value !== 'object' || value === null || Array.isArray(value))
          throw new Error('no object')
        return [basename(file, '.json'), value as AgentOptions]
      } catch (cause) {
        const message = `The agent template ${file} is not a JSON object.`
        throw new OrielError('invalid-option', message, { path: 'agents', cause })
      }
    }),
  )
}
