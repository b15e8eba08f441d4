// Message list of the chat.

import { type ReactNode, useEffect, useRef, useState } from 'react'
import type { Agent } from '../contract.ts'
import { FormTag } from '../form-tag.tsx'
import { formatCount, grouped } from '../numbers.ts'
import { Prose } from '../prose.tsx'
import type { ChatMessage } from './messages.ts'
import type { Chat } from './use-chat.ts'
import type { Sent, ShownAs } from './use-sent.ts'

export interface MessageListProps {
  readonly chat: Chat
  /** If given, each message shows the form in which it was last sent. */
  readonly sent: Sent | undefined
  readonly agent: Agent | undefined
}

/** Messages shown at once; older ones are loaded on request. */
const pageSize = 120

/** Suggestions shown before the first question, and after an answer. */
const firstIdeas = 5
const nextIdeas = 2

export function MessageList({ chat, sent, agent }: MessageListProps): ReactNode {
  const { messages, isBusy, error } = chat
  const [shown, setShown] = useState(pageSize)
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const top = useRef(0)
  // Follows what is being said, unless one has scrolled up.
  useEffect(() => {
    if (isAtEnd.current && messages.length > 0) end.current?.scrollIntoView({ block: 'end' })
  }, [messages])
  const asked = new Set(messages.map(({ text }) => text))
  const ideas = (agent?.questions ?? []).filter((idea) => !asked.has(idea))
  const hidden = Math.max(0, messages.length - shown)
  return (
    <div
      className="messages"
      role="log"
      aria-label="Messages"
      aria-busy={isBusy}
      onScroll={({ currentTarget: { scrollTop, clientHeight, scrollHeight } }) => {
        // Only a person scrolls up; what is added below moves nothing.
        if (scrollTop < top.current - 1) isAtEnd.current = false
        if (scrollTop + clientHeight > scrollHeight - 40) isAtEnd.current = true
        top.current = scrollTop
      }}
    >
      {messages.length === 0 && !chat.log.isLoading && (
        <div className="welcome">
          <h1>{agent?.title ?? 'Talk with the agent'}</h1>
          <p>{agent?.description ?? 'What is said here becomes a thread that you can inspect.'}</p>
          <Ideas ideas={ideas.slice(0, firstIdeas)} onSay={chat.say} />
        </div>
      )}
      {messages.length > 0 && <h1 className="sr-only">{agent?.title ?? 'Chat'}</h1>}
      {hidden > 0 && (
        <button type="button" className="earlier" onClick={() => setShown(shown + pageSize)}>
          Show earlier messages ({formatCount(hidden)})
        </button>
      )}
      {messages.slice(hidden).map((message) => (
        <Message key={message.key} message={message} sent={sent} />
      ))}
      {isBusy && (
        <div className="busy" role="status">
          <span className="spinner" aria-hidden="true" /> Answering…
        </div>
      )}
      {error !== undefined && (
        <div className="message-error" role="alert">
          {error.message}
          {chat.retry !== undefined && (
            <button type="button" onClick={chat.retry}>
              Send again
            </button>
          )}
        </div>
      )}
      {messages.length > 0 && !isBusy && error === undefined && (
        <Ideas ideas={ideas.slice(0, nextIdeas)} onSay={chat.say} />
      )}
      <div ref={end} />
    </div>
  )
}

function Ideas(props: {
  readonly ideas: readonly string[]
  readonly onSay: (text: string) => void
}): ReactNode {
  if (props.ideas.length === 0) return null
  return (
    <ul className="ideas" aria-label="Suggestions">
      {props.ideas.map((idea) => (
        <li key={idea}>
          <button type="button" onClick={() => props.onSay(idea)}>
            {idea}
          </button>
        </li>
      ))}
    </ul>
  )
}

function Message({
  message,
  sent,
}: {
  readonly message: ChatMessage
  readonly sent: Sent | undefined
}): ReactNode {
  const { role, text, calls, seq } = message
  const as = seq === undefined ? undefined : sent?.shown.of(seq)
  const isGone = as?.form === 'dropped'
  const tag = as !== undefined && <Shown as={as} />
  if (role === 'tool') return <ToolResult message={message} tag={tag} />
  return (
    <article className={`message message-${role}${isGone ? ' is-dropped' : ''}`} aria-label={role}>
      {tag}
      {text !== '' && (
        <div className="message-text">{role === 'assistant' ? <Prose text={text} /> : text}</div>
      )}
      {message.isInterrupted === true && (
        <span className="tag">stopped; not a part of the history</span>
      )}
      {calls.map((call) => (
        <div className="call" key={call.id}>
          <span aria-hidden="true">→</span> <b>{call.name}</b> <code>{call.arguments}</code>
        </div>
      ))}
    </article>
  )
}

/** In which form the model gets a message, and why. */
function Shown({ as: { form, rule, reason } }: { readonly as: ShownAs }): ReactNode {
  return (
    <span className="shown-as">
      <FormTag form={form} rule={rule} />
      {rule !== undefined && <b>{rule}</b>}
      {reason !== undefined && <span className="muted">{grouped(reason)}</span>}
    </span>
  )
}

function ToolResult({
  message,
  tag,
}: {
  readonly message: ChatMessage
  readonly tag: ReactNode
}): ReactNode {
  const lines = message.text.split('\n').length
  return (
    <details className="message message-tool">
      <summary>
        <span>{message.tool ?? 'Result'}</span>
        <span className="muted">
          {formatCount(lines)} {lines === 1 ? 'line' : 'lines'}, {formatCount(message.text.length)}{' '}
          characters
        </span>
        {tag}
      </summary>
      <pre>{message.text}</pre>
    </details>
  )
}
