// Chat page: a conversation with an agent beside what its model sees.

import type { ReactNode } from 'react'
import { go, setParams, threadAddress, useAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Info } from '../contract.ts'
import { Link } from '../link.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'
import { Composer } from './composer.tsx'
import { DebugPanel } from './debug-panel.tsx'
import { MessageList } from './message-list.tsx'
import { useChat } from './use-chat.ts'
import { useSent } from './use-sent.ts'

export function ChatPage({ info }: { readonly info: Info }): ReactNode {
  const { params } = useAddress()
  const name = params.get('agent') ?? info.agents[0]?.name
  if (name !== undefined) return <AgentChat info={info} name={name} />
  return (
    <Empty title="No agent is set up.">
      A chat needs the template of an agent: a file <code>agents/name.json</code>, whose folder the
      configuration names as <code>agents</code>. What others say through this gateway is under
      Threads.
    </Empty>
  )
}

function AgentChat({ info, name }: { readonly info: Info; readonly name: string }): ReactNode {
  useTitle('Chat')
  const { params } = useAddress()
  const thread = params.get('thread') ?? undefined
  const hasPanel = params.get('debug') === 'true'
  const parameters = policyParameters(params, name)
  const agent = useLoad(name, (signal) => api.agent(name, signal))
  const chat = useChat({ agent: agent.data, parameters, thread })
  const sent = useSent(thread, chat.messages.length, chat.isBusy)
  return (
    <div className={hasPanel ? 'chat chat-with-panel' : 'chat'}>
      <section className="chat-main" aria-label="Conversation">
        <div className="toolbar">
          <label>
            <span className="sr-only">Agent</span>
            <select
              value={name}
              onChange={(event) =>
                go(
                  `/chat?agent=${encodeURIComponent(event.target.value)}${hasPanel ? '&debug=true' : ''}`,
                )
              }
            >
              {info.agents.every((one) => one.name !== name) && <option>{name}</option>}
              {info.agents.map((one) => (
                <option key={one.name} value={one.name}>
                  {one.title ?? one.name}
                </option>
              ))}
            </select>
          </label>
          {info.isDemo && (
            <span className="tag" title="No upstream is set: a script answers, offline.">
              offline demo
            </span>
          )}
          <span className="spacer" />
          {thread !== undefined && <Link href={threadAddress(thread)}>Inspect</Link>}
          <Link href={freshAddress(params)}>New chat</Link>
          <button
            type="button"
            aria-pressed={hasPanel}
            onClick={() => setParams({ debug: hasPanel ? undefined : 'true' })}
          >
            Debug
          </button>
        </div>
        {agent.error !== undefined && <Failure error={agent.error} onRetry={agent.reload} />}
        {chat.log.error !== undefined && (
          <Failure error={chat.log.error} onRetry={chat.log.reload} />
        )}
        {chat.log.isLoading && chat.messages.length === 0 && <Loading what="the thread" />}
        <MessageList chat={chat} sent={hasPanel ? sent.data : undefined} agent={agent.data} />
        <Composer
          isBusy={chat.isBusy}
          isReady={agent.data !== undefined}
          onSay={chat.say}
          onStop={chat.stop}
        />
      </section>
      {hasPanel && (
        <DebugPanel
          parameters={parameters}
          messages={chat.messages}
          sent={sent.data}
          hasThread={thread !== undefined && sent.error === undefined}
        />
      )}
    </div>
  )
}

/** Query parameters for the gateway: all but the page's own. */
function policyParameters(params: URLSearchParams, agent: string): string {
  const kept = new URLSearchParams(params)
  for (const name of ['debug', 'thread']) kept.delete(name)
  kept.set('agent', agent)
  return `?${kept}`
}

function freshAddress(params: URLSearchParams): string {
  const kept = new URLSearchParams(params)
  kept.delete('thread')
  return `/chat?${kept}`
}
