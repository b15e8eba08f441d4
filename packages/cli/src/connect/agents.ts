// The agents that can be connected: where their settings are, and which of them lead to the gateway.

import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { FileFormat, Setting } from './settings-file.ts'

/** Where an agent looks for its settings. */
export interface Place {
  readonly home: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** What to set in one file. */
export interface FileChange {
  readonly path: string
  /** Other names of the same file: the first one that is there is changed instead. @default none */
  readonly alternatives?: readonly string[]
  readonly format: FileFormat
  readonly settings: readonly Setting[]
}

export type How = 'base-url' | 'plugin'

export interface Agent {
  readonly name: string
  /** Programs by which it is recognised on the path. */
  readonly programs: readonly string[]
  /** Its folder of settings; where it is, the agent was used. */
  folder(place: Place): string
  /** The settings that send its model calls to the gateway. */
  baseUrl(place: Place, url: string): readonly FileChange[]
  /** The settings that load Oriel in the agent's own slot; absent where there is no slot. */
  plugin?(place: Place, source: string): readonly FileChange[]
  /** What a person should know or do next. */
  readonly note: string
}

const claudeFolder = ({ home, env }: Place): string =>
  env.CLAUDE_CONFIG_DIR ?? join(home, '.claude')
const codexFolder = ({ home, env }: Place): string => env.CODEX_HOME ?? join(home, '.codex')
const opencodeFolder = ({ home, env }: Place): string =>
  join(env.XDG_CONFIG_HOME ?? join(home, '.config'), 'opencode')
const openclawFolder = ({ home, env }: Place): string =>
  env.OPENCLAW_STATE_DIR ?? join(home, '.openclaw')
const piFolder = ({ home, env }: Place): string =>
  env.PI_CODING_AGENT_DIR ?? join(home, '.pi', 'agent')

export const agents: readonly Agent[] = [
  {
    name: 'claude-code',
    programs: ['claude'],
    folder: claudeFolder,
    baseUrl: (place, url) => [
      {
        path: join(claudeFolder(place), 'settings.json'),
        format: 'json',
        settings: [{ path: ['env', 'ANTHROPIC_BASE_URL'], value: url }],
      },
    ],
    plugin: (place, source) => [
      {
        path: join(claudeFolder(place), 'settings.json'),
        format: 'json',
        settings: [
          {
            path: ['env', 'CLAUDE_CODE_PLUGIN_DIRS'],
            // The folder with the manifest: the module is in its dist.
            value: { add: dirname(dirname(source)), separator: delimiter },
          },
        ],
      },
    ],
    note: 'The gateway needs an upstream: oriel serve --upstream https://api.anthropic.com. With the plugin none is needed; /oriel shows what fills the context.',
  },
  {
    name: 'codex',
    programs: ['codex'],
    folder: codexFolder,
    baseUrl: (place, url) => [
      {
        path: join(codexFolder(place), 'config.toml'),
        format: 'toml',
        settings: [{ path: ['openai_base_url'], value: `${url}/v1` }],
      },
    ],
    note: 'The gateway needs an upstream: oriel serve --upstream https://api.openai.com. A model_provider of config.toml, or of a profile in it, goes before this setting.',
  },
  {
    name: 'openclaw',
    programs: ['openclaw'],
    folder: openclawFolder,
    baseUrl: (place, url) => [
      {
        path: join(openclawFolder(place), 'openclaw.json'),
        format: 'json',
        settings: [
          { path: ['models', 'providers', 'anthropic', 'baseUrl'], value: url },
          { path: ['models', 'providers', 'openai', 'baseUrl'], value: `${url}/v1` },
        ],
      },
    ],
    plugin: (place, source) => [
      {
        path: join(openclawFolder(place), 'openclaw.json'),
        format: 'json',
        settings: [
          // The folder with the manifest: the module is in its dist.
          { path: ['plugins', 'load', 'paths'], value: { add: dirname(dirname(source)) } },
          { path: ['plugins', 'slots', 'contextEngine'], value: 'oriel' },
        ],
      },
    ],
    note: 'Restart its gateway. Prefer --how plugin: by base URL its requests cost more than without Oriel. With the plugin no gateway of Oriel is needed; where plugins.allow is set, add oriel to it.',
  },
  {
    name: 'opencode',
    programs: ['opencode'],
    folder: opencodeFolder,
    baseUrl: (place, url) => [
      {
        path: join(opencodeFolder(place), 'opencode.json'),
        alternatives: [join(opencodeFolder(place), 'opencode.jsonc')],
        format: 'json',
        settings: ['anthropic', 'openai'].map((provider) => ({
          path: ['provider', provider, 'options', 'baseURL'],
          value: `${url}/v1`,
        })),
      },
    ],
    plugin: (place, source) => [
      {
        path: join(opencodeFolder(place), 'opencode.json'),
        alternatives: [join(opencodeFolder(place), 'opencode.jsonc')],
        format: 'json',
        settings: [{ path: ['plugin'], value: { add: pathToFileURL(source).href } }],
      },
    ],
    note: 'One gateway serves both providers; with the plugin none is needed, and /oriel shows what fills the context.',
  },
  {
    name: 'pi',
    programs: ['pi'],
    folder: piFolder,
    baseUrl: (place, url) => [
      {
        path: join(piFolder(place), 'models.json'),
        format: 'json',
        settings: [
          { path: ['providers', 'anthropic', 'baseUrl'], value: url },
          { path: ['providers', 'openai', 'baseUrl'], value: `${url}/v1` },
        ],
      },
    ],
    plugin: (place, source) => [
      {
        path: join(piFolder(place), 'settings.json'),
        format: 'json',
        settings: [{ path: ['extensions'], value: { add: source } }],
      },
    ],
    note: 'With the plugin no gateway is needed; /oriel shows what fills the context.',
  },
  {
    name: 'qwen-code',
    programs: ['qwen'],
    folder: ({ home }) => join(home, '.qwen'),
    baseUrl: ({ home }, url) => [
      {
        path: join(home, '.qwen', '.env'),
        format: 'env',
        settings: [{ path: ['OPENAI_BASE_URL'], value: `${url}/v1` }],
      },
    ],
    note: 'A base URL in a model provider of its settings.json goes before this one.',
  },
  {
    name: 'gemini-cli',
    programs: ['gemini'],
    folder: ({ home }) => join(home, '.gemini'),
    baseUrl: ({ home }, url) => [
      {
        path: join(home, '.gemini', '.env'),
        format: 'env',
        settings: [{ path: ['GOOGLE_GEMINI_BASE_URL'], value: url }],
      },
      {
        // With a base URL and no kind of key chosen it does not start; with a Google account it ignores the base URL.
        path: join(home, '.gemini', 'settings.json'),
        format: 'json',
        settings: [{ path: ['security', 'auth', 'selectedType'], value: 'gemini-api-key' }],
      },
    ],
    note: 'It uses GEMINI_API_KEY. The gateway: oriel serve --upstream https://generativelanguage.googleapis.com',
  },
]
