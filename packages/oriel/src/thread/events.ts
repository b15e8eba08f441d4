// What a thread tells its host. Events say what happened; they never change it.

import type { Block, Role } from '../core/log/block.ts'
import type { Json } from '../core/log/json.ts'

/** Every event's name, with when it comes. */
export const eventTypes = {
  'message-added': 'A message was appended to the log.',
  'message-removed': 'A message or a result left the view.',
  'message-expired': 'A result reached the end of its lifetime.',
  'message-compacted': 'A message or a block now appears in a smaller form.',
  'message-expanded': 'An original was shown again.',
  'directive-added': 'The user stated a standing instruction, or confirmed one.',
  'directive-superseded': 'A standing instruction was replaced by a newer one.',
  'epoch-applied': 'Edits were applied together.',
  'edit-undone': 'An edit was taken back.',
  'thread-forked': 'A fork was made.',
  'policy-changed': 'The policy changed.',
  'compaction-started': 'A checkpoint is being made.',
  'compaction-ended': 'A checkpoint was made, or not.',
  'compaction-skipped': 'Checkpoints are not made by themselves for now; says why, once.',
  'cache-broken': "The provider's prefix cache was lost.",
  recovery: 'A view was reduced after a context-length error.',
  'plugin-failed': 'A plugin failed; the message came in without it.',
  'job-failed': 'A job failed; the view is unchanged.',
} as const

export type EventType = keyof typeof eventTypes

/** Events about one message. */
export type MessageEventType = Extract<EventType, `message-${string}`>

interface AnyEvent {
  /** The thread's id. */
  readonly thread: string
  /** The model call that comes next: the same as `step`, not a turn of the user. */
  readonly turn: number
  readonly step: number
  /** Turns of the user so far. */
  readonly userTurn: number
  /** The id of the message, block, edit or epoch it is about; of a plugin or a task in the background, its name. */
  readonly id?: string
  /** The message's position in the newest view, as `expand` takes it; of one that left, where it stood; of a new one, in the log. */
  readonly index?: number
  /** One sentence for people, without content. */
  readonly text: string
  readonly reason?: string
  /** Tokens that this change keeps out of the view. Every token is in one event only. */
  readonly tokensSaved?: number
  /** For a broken cache: the tokens that it should have held. */
  readonly tokensLost?: number
  readonly canExpand?: boolean
  /** For a checkpoint: what started it. */
  readonly trigger?: CompactionTrigger
  /** Messages in view, for a checkpoint and a recovery. */
  readonly messages?: { readonly before: number; readonly after?: number }
  /** Tokens of the request, for a checkpoint and a recovery; of the changed content, for an epoch. */
  readonly tokens?: { readonly before: number; readonly after?: number }
  /** What went wrong, without content. */
  readonly error?: string
}

/** Counts of before and after. */
interface Change {
  readonly before: number
  readonly after: number
}

/** What an event of a type always has; asking for its `type` tells the compiler so. */
interface AlwaysThere {
  readonly 'message-added': { readonly id: string }
  readonly 'message-removed': { readonly id: string }
  readonly 'message-expired': { readonly id: string }
  readonly 'message-compacted': { readonly id: string }
  readonly 'message-expanded': { readonly id: string }
  readonly 'directive-added': { readonly id: string }
  readonly 'directive-superseded': { readonly id: string; readonly reason: string }
  readonly 'epoch-applied': {
    readonly id: string
    readonly reason: string
    readonly tokens: Change
  }
  readonly 'edit-undone': { readonly id: string }
  readonly 'thread-forked': unknown
  readonly 'policy-changed': unknown
  readonly 'compaction-started': {
    readonly trigger: CompactionTrigger
    readonly messages: { readonly before: number }
    readonly tokens: { readonly before: number }
  }
  readonly 'compaction-ended': {
    readonly trigger: CompactionTrigger
    readonly tokensSaved: number
    readonly messages: Change
    readonly tokens: Change
  }
  readonly 'compaction-skipped': { readonly reason: string }
  readonly 'cache-broken': { readonly reason: string; readonly tokensLost: number }
  readonly recovery: { readonly reason: string; readonly messages: Change; readonly tokens: Change }
  readonly 'plugin-failed': { readonly id: string; readonly reason: string }
  readonly 'job-failed': { readonly reason: string }
}

type CompactionTrigger = 'turn-end' | 'step' | 'manual' | 'recovery'

/** What happened to a message. */
export type MessageEvent<Meta = Json> = {
  [Type in MessageEventType]: AnyEvent &
    AlwaysThere[Type] & {
      readonly type: Type
      /** The message, as it is shown now; of one that left, as it was. Not part of the event's JSON: it is content. */
      readonly message: EventMessage<Meta>
    }
}[MessageEventType]

export type OtherEvent = {
  [Type in Exclude<EventType, MessageEventType>]: AnyEvent &
    AlwaysThere[Type] & {
      readonly type: Type
      /** The sentence of `text`. */
      readonly message: string
    }
}[Exclude<EventType, MessageEventType>]

/** A union on `type`: what an event of one type always has is not optional once you asked for the type. */
export type ThreadEvent<Meta = Json> = MessageEvent<Meta> | OtherEvent

/** A message of an event, with its expiry and what became of it. */
export interface EventMessage<Meta = Json> {
  readonly id: string
  readonly role: Role
  readonly content: readonly Block[]
  /** The caller's own data. */
  readonly meta?: Meta
  readonly metadata: {
    readonly messageType?: string
    /** The model call that it belongs to. */
    readonly turnAdded: number
    readonly wasCompacted: boolean
    readonly isExpired: boolean
    readonly canExpand: boolean
    readonly originalLength: number
  }
}

/** What the thread itself does not know of an event of that type. */
export type FieldsOf<Type extends EventType> = EventFields & AlwaysThere[Type]

/** What the thread itself does not know of an event. */
export interface EventFields
  extends Omit<AnyEvent, 'thread' | 'turn' | 'step' | 'userTurn' | 'text'> {
  /** One sentence for people, without content. */
  readonly message: string
  /** The message of a message event. */
  readonly about?: () => EventMessage
}

/** Where a thread stands. */
interface EventPlace {
  readonly thread: string
  readonly step: number
  readonly userTurn: number
}

/** An event as its listener gets it. */
export function eventOf(
  type: EventType,
  { thread, step, userTurn }: EventPlace,
  { message: text, about, ...fields }: EventFields,
): ThreadEvent {
  const event = { type, thread, turn: step, step, userTurn, text, ...fields }
  if (about === undefined) return { ...event, message: text } as ThreadEvent
  let message: EventMessage | undefined
  const get = (): EventMessage => {
    message ??= about()
    return message
  }
  // Made when it is read, and never written along with the event.
  return Object.defineProperty(event, 'message', { get, enumerable: false }) as ThreadEvent
}

/** Nobody waits for what it returns. */
export type Listener<Meta = Json> = (event: ThreadEvent<Meta>) => unknown

/** Calls a listener; one that throws, now or later, is reported on the log line and changes nothing. */
export function notify(
  listener: Listener | undefined,
  event: ThreadEvent,
  report: (line: string) => void,
): void {
  if (listener === undefined) return
  const failed = (error: unknown): void => {
    const name = error instanceof Error ? error.name : 'unknown'
    report(`[Oriel] A listener threw at '${event.type}': ${name}`)
  }
  try {
    const later = listener(event)
    if (later instanceof Object && 'then' in later) Promise.resolve(later).catch(failed)
  } catch (error) {
    failed(error)
  }
}
