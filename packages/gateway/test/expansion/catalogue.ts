// A client with a hundred tools, and a model that looks for those it needs.

import type { JsonObject, WireFormat } from 'oriel'
import { providers } from 'oriel/providers'
import type { ToolDefinition } from '../dialect.ts'
import { type Action, reply } from '../upstream/action.ts'
import type { Asked } from '../upstream/upstream.ts'

const services = {
  calendar: 'events of a calendar',
  mail: 'messages of a mailbox',
  tickets: 'tickets of an issue tracker',
  files: 'files of a shared drive',
  orders: 'orders of a shop',
  invoices: 'invoices of customers',
  deployments: 'deployments of a cluster',
  alerts: 'alerts of a monitor',
  contacts: 'people of an address book',
  warehouse: 'rows of a data warehouse',
} as const
const verbs = [
  'create',
  'read',
  'update',
  'delete',
  'list',
  'search',
  'share',
  'archive',
  'export',
  'watch',
]

/** A hundred tools with schemas as long as those of real servers. */
export const hundredTools: readonly ToolDefinition[] = Object.entries(services).flatMap(
  ([service, of]) =>
    verbs.map((verb) => ({
      name: `mcp__${service}__${verb}`,
      description: `Use this tool to ${verb} ${of}. It asks the service once, waits for its answer and gives it back as JSON. Ids are those that other tools of the service give. Fails where the caller has no right to ${verb} ${of}.`,
      parameters: {
        type: 'object',
        properties: {
          id: { type: 'string', description: `The id, as list or search of ${service} gives it.` },
          fields: {
            type: 'array',
            items: { type: 'string' },
            description: 'Which fields the answer has; all of them where none is named.',
          },
          page: { type: 'integer', minimum: 1, description: 'The page of a long answer, from 1.' },
          dryRun: {
            type: 'boolean',
            description: `Whether nothing is done: says what ${verb} would do.`,
          },
        },
        required: ['id'],
        additionalProperties: false,
      },
    })),
)

/** Names of the tools that a request lists. */
export function listedIn({ format, body }: Pick<Asked, 'format' | 'body'>): readonly string[] {
  const { tools } = providers[format]
  const list = body[tools.listKey]
  return Array.isArray(list) ? tools.names(list) : []
}

export interface Wanted {
  readonly tool: string
  /** What the model asks for where the tool is not in its list. */
  readonly query: string
}

/** A model that calls the wanted tools one after the other, and looks for each that it does not see. */
export function seeker(wanted: readonly Wanted[]): (asked: Asked) => Action {
  let step = 0
  return (asked) => {
    const next = wanted[step]
    if (next === undefined) return reply({ text: 'All done.' })
    if (!listedIn(asked).includes(next.tool)) {
      const search = listedIn(asked).find((name) => name.endsWith('find_tool'))
      if (search === undefined) throw new Error(`${next.tool} cannot be found`)
      return reply({ calls: [[search, JSON.stringify({ query: next.query })]] })
    }
    step += 1
    return reply({ text: `Step ${step}.`, calls: [[next.tool, `{"id":"${step}"}`]] })
  }
}

/** The list of tools as it was sent. */
export function toolsOf({ body }: Pick<Asked, 'body'>, format: WireFormat): readonly JsonObject[] {
  return body[providers[format].tools.listKey] as readonly JsonObject[]
}
