// Resolves the policy from several sources, field by field: environment > request > agent > default. Each field knows its source.

import { OrielError, wrongOption } from '../core/log/errors.ts'
import { isObject, setField } from '../core/log/json.ts'
import { assertNoSlip, assertOptions, isNearly, type OptionNames } from '../core/log/options.ts'
import { nearestName } from '../core/text/nearest-name.ts'
import { assertRules, type CustomRule } from '../rules/custom.ts'
import type { StoredSettings } from '../stores/agent-settings.ts'
import { operatorPaths, parseCallerPolicy } from './caller-policy.ts'
import { type PolicyField, policyFields } from './fields.ts'
import { describe, type Policy, type PolicyInput, parsePolicy } from './schema.ts'
import { withStoredSettings } from './stored-settings.ts'

export type SettingSource = 'environment' | 'request' | 'agent' | 'default'

/** The policy that a request asks for: in its query string, in a header, in its body. */
export interface PolicyRequest {
  /** For example `historyPolicy=all&historyLength=5`. */
  readonly query?: URLSearchParams | Readonly<Record<string, unknown>>
  /** A policy as JSON text or as an object. */
  readonly header?: unknown
  readonly body?: unknown
}

/** @deprecated Use `PolicyRequest`. */
export type RequestSettings = PolicyRequest

/** An agent template, from a JSON file: the history settings of its chat, or a whole policy. */
export interface AgentTemplate {
  readonly chatSettings?: { readonly historyPolicy?: unknown; readonly historyLength?: unknown }
  readonly policy?: PolicyInput
}

export interface ResolvePolicyOptions<Own extends readonly CustomRule[] = readonly []> {
  /** Environment variables; what they set is locked. @default {} */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** The request: its parts, or its flat parameters, or a policy. @default {} */
  readonly request?: PolicyRequest | URLSearchParams | Readonly<Record<string, unknown>>
  /** The agent: a template, or a policy. @default {} */
  readonly agent?: AgentTemplate | PolicyInput | Readonly<Record<string, unknown>>
  /** What the store keeps for the agent (`store.settings.read`): wins over the template, tool by tool. @default nothing */
  readonly stored?: StoredSettings
  /** What holds when nobody else says anything. @default {} */
  readonly defaults?: PolicyInput<Own>
  /** What an invalid value of a request does. @default { query: 'ignore', header: 'error', body: 'error' } */
  readonly onInvalid?: {
    readonly query?: 'ignore' | 'error'
    readonly header?: 'ignore' | 'error'
    readonly body?: 'ignore' | 'error'
  }
  /** Largest value a request may ask for, per numeric field, for example `{ 'history.length': 50 }`. @default {} */
  readonly ceilings?: Readonly<Record<string, number>>
  /** Whether requests may set anything. @default 'allow' */
  readonly requestOverrides?: 'allow' | 'scoped-key' | 'deny'
  /** Whether the caller's key may override, for `scoped-key`. @default false */
  readonly hasScopedKey?: boolean
  /** Rules of your own, which policies may name. Their settings have no environment variables and no parameters. @default none */
  readonly rules?: Own
}

/** Options with rules of any kind. */
type AnyOptions = ResolvePolicyOptions<readonly CustomRule[]>

export interface ResolvedPolicy {
  readonly policy: Policy
  /** Where each field came from, keyed by its path, for example `history.length`. */
  readonly sources: Readonly<Record<string, SettingSource>>
  /** What was ignored and why. */
  readonly warnings: readonly string[]
}

/** Document 002's own variables; ours win. */
const aliases: Readonly<Record<string, string>> = {
  'history.policy': 'NEXT_PUBLIC_DEFAULT_HISTORY_POLICY',
  'history.length': 'NEXT_PUBLIC_DEFAULT_HISTORY_LENGTH',
}

/**
 * The policy that holds, and the source of each field. An invalid environment value throws 'invalid-setting': what the operator
 * wants is unknown, so nothing starts. An invalid query value is ignored with a warning; an invalid header or body value throws
 * 'invalid-setting' too (a gateway answers 400). Options that are wrong themselves throw 'invalid-option'.
 */
export function resolvePolicy<const Own extends readonly CustomRule[] = readonly []>(
  options: ResolvePolicyOptions<Own> = {},
): ResolvedPolicy {
  assertResolveOptions(options)
  const { rules = [] } = options
  const warnings: string[] = []
  const layers: readonly Layer[] = [
    { source: 'environment', values: readEnvironment(options.env ?? {}), rest: {} },
    readRequest(options, warnings),
    withStored(readAgent(options.agent, rules), options.stored),
    { source: 'default', ...fromPolicy(parsePolicy(options.defaults, 'defaults', rules)) },
  ]
  const sources: Record<string, SettingSource> = {}
  let parts: Readonly<Record<string, unknown>> = {}
  // What cannot be set field by field (per-tool expiry and the like) comes from the first layer that has it.
  for (const { rest, source } of [...layers].reverse()) {
    for (const [part, fields] of Object.entries(rest)) {
      parts = { ...parts, [part]: { ...(isObject(parts[part]) ? parts[part] : {}), ...fields } }
      for (const name of Object.keys(fields)) sources[`${part}.${name}`] = source
    }
  }
  const isOn = (part: string): boolean =>
    part in parts ||
    layers.some(({ values }) => [...values.keys()].some((field) => field.part === part))
  for (const field of policyFields) {
    const layer = layers.find(({ values }) => values.has(field))
    const got = layer?.values.get(field)
    const value = got === undefined && isOn(field.part) ? field.default : got
    if (value === undefined) continue
    sources[field.path] = layer?.source ?? 'default'
    parts = withField(parts, field.path.split('.'), value)
  }
  return { policy: parsePolicy(parts, 'policy', rules), sources, warnings }
}

const resolveOptions: OptionNames<AnyOptions> = {
  env: true,
  request: true,
  agent: true,
  stored: true,
  defaults: true,
  onInvalid: true,
  ceilings: true,
  requestOverrides: true,
  hasScopedKey: true,
  rules: true,
}

/** What guards the settings must not be ignored because of a slip. */
function assertResolveOptions(options: AnyOptions): void {
  assertOptions(options, resolveOptions, 'resolvePolicy')
  const { onInvalid = {}, ceilings = {}, requestOverrides = 'allow', rules = [] } = options
  assertRules(rules)
  if (!isObject(onInvalid)) throw wrongOption('onInvalid', 'an object')
  for (const [place, answer] of Object.entries(onInvalid)) {
    const path = `onInvalid.${place}`
    if (!['query', 'header', 'body'].includes(place)) {
      throw wrongOption(path, 'query, header or body')
    }
    if (answer !== undefined && answer !== 'ignore' && answer !== 'error') {
      throw wrongOption(path, "'ignore' or 'error'")
    }
  }
  const { env = {}, stored, hasScopedKey = false } = options
  if (!isObject(env)) throw wrongOption('env', 'an object of environment variables')
  if (typeof hasScopedKey !== 'boolean') throw wrongOption('hasScopedKey', 'true or false')
  if (stored !== undefined) {
    const names: OptionNames<StoredSettings> = { tools: true, toolDefaults: true, chat: true }
    assertOptions(stored, names, 'resolvePolicy', 'stored')
  }
  if (!isObject(ceilings)) throw wrongOption('ceilings', 'an object')
  for (const [path, ceiling] of Object.entries(ceilings)) {
    const field = policyFields.find((known) => known.path === path)
    const isNumeric = field?.kind === 'integer' || field?.kind === 'share'
    if (!isNumeric) throw wrongOption(`ceilings.${path}`, 'a numeric field, by its path')
    if (typeof ceiling !== 'number') throw wrongOption(`ceilings.${path}`, 'a number')
  }
  if (!['allow', 'scoped-key', 'deny'].includes(requestOverrides)) {
    throw wrongOption('requestOverrides', "'allow', 'scoped-key' or 'deny'")
  }
}

/** Null leaves a field of an override as it is, whatever a lower layer says. */
type Value = string | number | boolean | null
type Values = ReadonlyMap<PolicyField, Value>

interface Layer {
  readonly source: SettingSource
  readonly values: Values
  /** Parts' fields that are not scalar. */
  readonly rest: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** The settings of one source, and what is wrong with others of them. */
type Read = Omit<Layer, 'source'> & { readonly problems?: readonly string[] }

function readEnvironment(env: Readonly<Record<string, string | undefined>>): Values {
  refuseSlips(env)
  const values = new Map<PolicyField, Value>()
  for (const field of policyFields) {
    const alias = aliases[field.path]
    const names = alias === undefined ? [field.variable] : [field.variable, alias]
    const name = names.find((candidate) => env[candidate] !== undefined && env[candidate] !== '')
    if (name === undefined) continue
    const text = env[name] as string
    const value = field.read(text)
    if (value === undefined) {
      throw new OrielError(
        'invalid-setting',
        `The environment variable ${name} is ${describe(text)}; allowed: ${allowed(field)}. Correct it or unset it.`,
        { path: name },
      )
    }
    values.set(field, value)
  }
  return values
}

const variables: readonly string[] = [
  ...policyFields.map(({ variable }) => variable),
  ...Object.values(aliases),
]

/** A misspelt variable would leave unlocked what the operator wants locked. */
function refuseSlips(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, text] of Object.entries(env)) {
    const isOurs = name.startsWith('ORIEL_') || name.startsWith('NEXT_PUBLIC_DEFAULT_HISTORY')
    if (!isOurs || text === undefined || text === '' || !isNearly(name, variables)) continue
    const message = `The environment variable ${name} is not known; did you mean ${nearestName(name, variables)}? Correct it or unset it.`
    throw new OrielError('invalid-setting', message, { path: name })
  }
}

function readRequest(options: AnyOptions, warnings: string[]): Layer {
  const values = new Map<PolicyField, Value>()
  const { rules = [] } = options
  const { query, header, body } = partsOfRequest(options)
  const layer: Layer = { source: 'request', values, rest: {} }
  const says = [query, header, body].some((part) => part !== undefined)
  const { requestOverrides = 'allow', hasScopedKey = false } = options
  if (requestOverrides === 'deny' || (requestOverrides === 'scoped-key' && !hasScopedKey)) {
    if (says) warnings.push('The request may not override settings: ignored.')
    return layer
  }
  const onInvalid = {
    query: 'ignore',
    header: 'error',
    body: 'error',
    ...options.onInvalid,
  } as const
  const rest: Record<string, Record<string, unknown>> = {}
  // The more explicit place wins: query string, then header, then body.
  for (const [place, value] of [
    ['query', query],
    ['header', header],
    ['body', body],
  ] as const) {
    if (value === undefined) continue
    try {
      const read: Read =
        place === 'query'
          ? readQuery(value)
          : fromPolicy(parseCallerPolicy(fromText(value), place, rules))
      for (const [field, got] of read.values) {
        values.set(field, bounded(field, got, options.ceilings, warnings))
      }
      for (const [part, fields] of Object.entries(read.rest))
        rest[part] = { ...rest[part], ...fields }
      for (const problem of read.problems ?? []) {
        if (onInvalid.query === 'error')
          throw new OrielError('invalid-setting', problem, { path: place })
        warnings.push(problem)
      }
    } catch (error) {
      if (onInvalid[place] === 'error' || !OrielError.is(error)) throw asSetting(error, place)
      warnings.push(`Ignored: ${error.message}`)
    }
  }
  boundHistory(values, options.ceilings, warnings)
  return { ...layer, rest }
}

function asSetting(error: unknown, place: string): unknown {
  if (!OrielError.is(error) || error.code === 'invalid-setting') return error
  return new OrielError('invalid-setting', `The request's ${place}: ${error.message}`, {
    path: error.path ?? place,
    cause: error,
  })
}

const words = ['preset', 'schedule']

/** Whether an object has a part of a policy. */
function hasParts(object: object, rules: readonly CustomRule[]): boolean {
  const names = ['preset', ...policyParts, ...rules.map(({ name }) => name)]
  // A template may have a list of tools; a part is an object, and two of them are words.
  return Object.entries(object).some(
    ([name, value]) => names.includes(name) && (isObject(value) || words.includes(name)),
  )
}

function partsOfRequest({ request, rules = [] }: AnyOptions): PolicyRequest {
  if (request === undefined) return {}
  if (request instanceof URLSearchParams) return { query: request }
  const isSplit = ['query', 'header', 'body'].some((key) => key in request)
  if (isSplit) {
    const split = request as PolicyRequest
    assertOptions(split, { query: true, header: true, body: true }, 'resolvePolicy', 'request')
    return split
  }
  // Parameters are scalars, parts of a policy are objects.
  const objects = Object.fromEntries(Object.entries(request).filter(([, value]) => isObject(value)))
  const isPolicy = hasParts(objects, rules)
  return isPolicy ? { body: request } : { query: request as Readonly<Record<string, unknown>> }
}

function readQuery(query: unknown): Read {
  const read = readParameters(query)
  const values = new Map([...read.values].filter(([{ path }]) => !operatorPaths.has(path)))
  const refused = [...read.values.keys()].filter(({ path }) => operatorPaths.has(path))
  const problems = refused.map(({ path }) => `${path} is set by the operator only: ignored.`)
  return { ...read, values, problems: [...(read.problems ?? []), ...problems, ...slipsIn(query)] }
}

const parameters: readonly string[] = policyFields.map(({ parameter }) => parameter)

/** Parameters that are nearly ours: other ones are of the application. */
function slipsIn(query: unknown): readonly string[] {
  const names = query instanceof URLSearchParams ? [...query.keys()] : Object.keys(query as object)
  return names
    .filter((name) => isNearly(name, parameters))
    .map((name) => {
      const near = nearestName(name, parameters)
      return `The parameter ${name} is not known; did you mean ${near}? Ignored.`
    })
}

/** What is given for a parameter; of several values none is taken. */
function givenFor(query: unknown, name: string): unknown {
  if (!(query instanceof URLSearchParams)) return (query as Record<string, unknown>)[name]
  const values = new Set(query.getAll(name))
  return values.size > 1 ? [...values] : query.get(name)
}

function readParameters(query: unknown): Read {
  const values = new Map<PolicyField, Value>()
  const problems: string[] = []
  for (const field of policyFields) {
    const { parameter: name } = field
    const got = givenFor(query, name)
    if (got === undefined || got === null) continue
    const value = typeof got === 'string' ? field.read(got) : accepted(field, got)
    if (value !== undefined) values.set(field, value)
    else
      problems.push(
        `The parameter ${name} is ${describe(got)}; allowed: ${allowed(field)}. Ignored.`,
      )
  }
  return { values, rest: {}, problems }
}

function readAgent(agent: AnyOptions['agent'], rules: readonly CustomRule[]): Layer {
  if (agent === undefined) return { source: 'agent', values: new Map(), rest: {} }
  if (typeof agent === 'string') {
    return { source: 'agent', ...fromPolicy(parsePolicy(agent, 'agent')) }
  }
  const { chatSettings = {}, policy, ...others } = agent as AgentTemplate & Record<string, unknown>
  assertTemplate(others, chatSettings, rules)
  const { preserveSystemMessages, ...chat } = chatSettings as Record<string, unknown>
  const flat = { ...others, historyPreserveSystemMessages: preserveSystemMessages, ...chat }
  const isPolicy = hasParts(others, rules)
  const read = fromPolicy(parsePolicy(policy ?? (isPolicy ? others : {}), 'agent.policy', rules))
  const values = new Map(read.values)
  const { values: settings, problems = [] } = readParameters(flat)
  if (problems.length > 0) {
    throw new OrielError('invalid-setting', `The agent template: ${problems[0]}`, { path: 'agent' })
  }
  for (const [field, value] of settings) values.set(field, value)
  return { source: 'agent', values, rest: read.rest }
}

/** Names of a template's chat settings. */
const chatNames = ['historyPolicy', 'historyLength', 'preserveSystemMessages']

/** Other fields of a template are the application's; what is nearly one of ours, or a policy's field among the chat settings, is a slip. */
function assertTemplate(others: object, chat: unknown, rules: readonly CustomRule[]): void {
  const of = 'An agent template'
  if (!isObject(chat)) throw wrongOption('agent.chatSettings', 'an object')
  const parts = [...policyParts, ...rules.map(({ name }) => name)]
  const known = ['chatSettings', 'policy', 'preset', ...parts, ...parameters]
  assertNoSlip(others, { known }, { of, at: 'agent' })
  const names = { known: [...chatNames, ...parameters], elsewhere: ['length', 'policy', 'history'] }
  assertNoSlip(chat, names, { of, at: 'agent.chatSettings' })
}

const policyParts: readonly string[] = [...new Set(policyFields.map(({ part }) => part))]

function withStored(layer: Layer, stored: StoredSettings | undefined): Layer {
  if (stored === undefined) return layer
  // The layer's own fields came out of a policy that was checked.
  const own = { expiry: layer.rest.expiry } as Policy
  const { expiry } = withStoredSettings(own, stored)
  const { values: chat } = readParameters({ ...stored.chat })
  return {
    ...layer,
    values: new Map([...layer.values, ...chat]),
    rest: expiry === undefined ? layer.rest : { ...layer.rest, expiry: { ...expiry } },
  }
}

function fromPolicy(policy: Policy): Read {
  const values = new Map<PolicyField, Value>()
  const rest: Record<string, Record<string, unknown>> = {}
  for (const [part, fields] of Object.entries(policy)) {
    if (isObject(fields)) {
      rest[part] = takeFields(part, fields, values)
      continue
    }
    const field = policyFields.find(({ path }) => path === part)
    if (field !== undefined && fields !== undefined) values.set(field, fields)
  }
  return { values, rest }
}

/** Takes the scalar fields of an object. Answers what is left: what cannot be set field by field, and that its own objects are there. */
function takeFields(
  path: string,
  given: Readonly<Record<string, unknown>>,
  values: Map<PolicyField, Value>,
): Record<string, unknown> {
  const rest: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const own = `${path}.${name}`
    const field = policyFields.find((known) => known.path === own)
    const hasFields = policyFields.some((known) => known.path.startsWith(`${own}.`))
    if (field !== undefined) values.set(field, value as Value)
    else setField(rest, name, hasFields && isObject(value) ? takeFields(own, value, values) : value)
  }
  return rest
}

function fromText(value: unknown): unknown {
  if (typeof value !== 'string' || !value.trimStart().startsWith('{')) return value
  try {
    return JSON.parse(value)
  } catch (cause) {
    throw new OrielError('invalid-setting', 'The policy is not valid JSON.', { cause })
  }
}

function bounded(
  field: PolicyField,
  value: Value,
  ceilings: Readonly<Record<string, number>> = {},
  warnings: string[],
): Value {
  const ceiling = ceilings[field.path]
  if (ceiling === undefined || typeof value !== 'number') return value
  const isUnlimited = value === 0 && unlimitedAtZero.has(field.path)
  if (value <= ceiling && !isUnlimited) return value
  const said = isUnlimited ? '0 (no limit)' : value
  warnings.push(`${field.path} ${said} is above the ceiling: ${ceiling} is used.`)
  return ceiling
}

/** Fields in which 0 means that there is no limit. */
const unlimitedAtZero: ReadonlySet<string> = new Set([
  'history.maxMessages',
  'toolOutput.maxLines',
  'toolOutput.maxBytes',
  'toolOutput.maxChars',
  'toolOutput.largeOutputThreshold',
  'toolResults.max',
  'toolResults.cutoff',
  'compaction.maxTokens',
  'compaction.maxMessages',
])

/** The whole history is above any ceiling on its length: the ceiling is used. */
function boundHistory(
  values: Map<PolicyField, Value>,
  ceilings: Readonly<Record<string, number>> = {},
  warnings: string[],
): void {
  const ceiling = ceilings['history.length']
  const policy = policyFields.find(({ path }) => path === 'history.policy')
  const length = policyFields.find(({ path }) => path === 'history.length')
  if (ceiling === undefined || policy === undefined || length === undefined) return
  if (values.get(policy) !== 'all') return
  warnings.push(`history.policy all is above the ceiling: the last ${ceiling} turns are used.`)
  values.set(policy, 'lastN')
  values.set(length, ceiling)
}

function accepted(field: PolicyField, value: unknown): Value | undefined {
  return field.accepts(value) ? (value as Value) : undefined
}

function allowed(field: PolicyField): string {
  if (field.choices !== undefined) return field.choices.join(', ')
  if (field.kind === 'integer') return `a whole number, ${field.accepts(0) ? 0 : 1} or more`
  if (field.kind === 'share') return 'a number from 0 to 1'
  return field.kind === 'boolean' ? 'true, false' : 'a text'
}

function withField(
  object: Readonly<Record<string, unknown>>,
  [name = '', ...inner]: readonly string[],
  value: Value,
): Readonly<Record<string, unknown>> {
  const own = object[name]
  const set = inner.length === 0 ? value : withField(isObject(own) ? own : {}, inner, value)
  return { ...object, [name]: set }
}
