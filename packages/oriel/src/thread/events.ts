// What a thread tells its host. Events say what happened; they never change it.

/** Every event's name, with when it comes. */
export const eventTypes = {
  'message-added': 'A message was appended to the log.',
  'message-removed': 'A message left the view.',
  'message-expired': 'A result reached the end of its lifetime.',
  'message-compacted': 'A block now appears in a smaller form.',
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

export interface ThreadEvent {
  readonly type: EventType
  /** The thread's id. */
  readonly thread: string
  readonly turn: number
  readonly step: number
  /** The id of the message, block, edit or epoch it is about; of a plugin or a task in the background, its name. */
  readonly id?: string
  /** Position among the thread's messages. */
  readonly index?: number
  /** One sentence for people, without content. */
  readonly message: string
  readonly reason?: string
  readonly tokensSaved?: number
  /** For a broken cache: the tokens that it should have held. */
  readonly tokensLost?: number
  readonly canExpand?: boolean
  /** For a checkpoint: what started it. */
  readonly trigger?: 'turn-end' | 'step' | 'manual' | 'recovery'
  /** Messages in view, for a checkpoint and a recovery. */
  readonly messages?: { readonly before: number; readonly after?: number }
  /** Tokens of the request, for a checkpoint and a recovery. */
  readonly tokens?: { readonly before: number; readonly after?: number }
  /** What went wrong, without content. */
  readonly error?: string
}

/** What the thread itself does not know of an event. */
export type EventFields = Omit<ThreadEvent, 'type' | 'thread' | 'turn' | 'step'> &
  Partial<Pick<ThreadEvent, 'turn' | 'step'>>

/** Nobody waits for what it returns. */
export type Listener = (event: ThreadEvent) => unknown

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
