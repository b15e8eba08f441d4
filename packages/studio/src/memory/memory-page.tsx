// Memory page: what a user said is to hold in all conversations: listed, put into other words, erased.

import { type FormEvent, type ReactNode, useEffect, useState } from 'react'
import { setParams, threadAddress, useAddress } from '../address.ts'
import { api, type ScopeQuery } from '../api.ts'
import type { Info, LastingInstruction } from '../contract.ts'
import { Link } from '../link.tsx'
import { Empty, Failure, Loading } from '../notice.tsx'
import { formatCount } from '../numbers.ts'
import { useLoad } from '../use-load.ts'
import { useTitle } from '../use-title.ts'

export function MemoryPage({ info }: { readonly info: Info }): ReactNode {
  useTitle('Memory')
  const { params } = useAddress()
  const user = params.get('user') ?? ''
  const project = params.get('project') ?? ''
  const scope = { user, project }
  const isNamed = user !== '' || project !== ''
  const memory = useLoad(isNamed ? `${user}\n${project}` : undefined, (signal) =>
    api.memory(scope, signal),
  )
  const instructions = memory.data?.instructions
  return (
    <section className="settings memory" aria-label="Memory">
      <h1>Memory</h1>
      <p className="muted">
        What a user says is to hold in all conversations (“always answer in French”) is told to each
        of their new threads, in their own words.
      </p>
      <ScopeForm key={`${user}\n${project}`} user={user} project={project} />
      {memory.error !== undefined && <Failure error={memory.error} onRetry={memory.reload} />}
      {isNamed && instructions === undefined && memory.isLoading && <Loading what="instructions" />}
      {!isNamed && (
        <Empty title="Whose instructions?">
          Threads belong to a user or a project when their requests carry <code>x-oriel-user</code>{' '}
          or <code>x-oriel-project</code>, and the configuration has <code>memory: true</code>.
        </Empty>
      )}
      {instructions?.length === 0 && (
        <Empty title="Nothing is remembered here.">
          The next lasting instruction in a thread of this user or project will be listed.
        </Empty>
      )}
      {instructions !== undefined && instructions.length > 0 && (
        <>
          <h2>
            {formatCount(instructions.length)}{' '}
            {instructions.length === 1 ? 'instruction holds' : 'instructions hold'}, the oldest
            first
          </h2>
          <ul className="instructions">
            {instructions.map((one) => (
              <Instruction
                key={`${one.tenant} ${one.id}`}
                instruction={one}
                scope={scope}
                info={info}
                onChange={memory.reload}
              />
            ))}
          </ul>
        </>
      )}
    </section>
  )
}

function ScopeForm(given: { readonly user: string; readonly project: string }): ReactNode {
  const [user, setUser] = useState(given.user)
  const [project, setProject] = useState(given.project)
  const show = (event: FormEvent): void => {
    event.preventDefault()
    setParams({ user: user.trim(), project: project.trim() }, 'push')
  }
  return (
    <form className="scope-form" onSubmit={show}>
      <label>
        User
        <input
          value={user}
          data-slash=""
          placeholder="as in x-oriel-user"
          onChange={(event) => setUser(event.target.value)}
        />
      </label>
      <label>
        Project
        <input
          value={project}
          placeholder="as in x-oriel-project"
          onChange={(event) => setProject(event.target.value)}
        />
      </label>
      <button type="submit" className="primary">
        Show
      </button>
    </form>
  )
}

interface InstructionProps {
  readonly instruction: LastingInstruction
  readonly scope: ScopeQuery
  readonly info: Info
  readonly onChange: () => void
}

function Instruction({ instruction, scope, info, onChange }: InstructionProps): ReactNode {
  const { id, text, thread, seq, isEdited, tenant } = instruction
  const [mode, setMode] = useState<'read' | 'edit' | 'erase'>('read')
  const [written, setWritten] = useState(text)
  const [error, setError] = useState<Error>()
  useEffect(() => setWritten(text), [text])
  const whose = tenant === undefined || tenant === info.tenant ? {} : { tenant }
  const own = { ...scope, ...(tenant === undefined ? {} : { tenant }) }
  const act = (change: Promise<unknown>): void => {
    setError(undefined)
    change.then(() => {
      setMode('read')
      onChange()
    }, setError)
  }
  return (
    <li data-instruction={id}>
      {mode === 'edit' ? (
        <form
          onSubmit={(event) => {
            event.preventDefault()
            act(api.editInstruction(id, written.trim(), own))
          }}
        >
          <textarea
            aria-label="Instruction"
            rows={2}
            maxLength={1000}
            value={written}
            onChange={(event) => setWritten(event.target.value)}
          />
          <div className="actions">
            <button type="submit" className="primary" disabled={written.trim() === ''}>
              Save
            </button>
            <button type="button" onClick={() => setMode('read')}>
              Cancel
            </button>
          </div>
        </form>
      ) : (
        <p className="instruction-text">{text}</p>
      )}
      {mode === 'erase' && (
        <fieldset className="effect">
          <legend className="sr-only">Erase the instruction</legend>
          <p>
            New threads are no longer told. The message that it was said in stays in its thread, and
            is not taken in again.
          </p>
          <button
            type="button"
            className="danger"
            onClick={() => act(api.eraseInstruction(id, own))}
          >
            Erase now
          </button>
          <button type="button" onClick={() => setMode('read')}>
            Keep
          </button>
        </fieldset>
      )}
      {error !== undefined && (
        <p role="alert" className="warning">
          {error.message}
        </p>
      )}
      {mode === 'read' && (
        <p className="small muted instruction-foot">
          <Link href={threadAddress(thread, { ...whose, block: `${seq}/0` })}>
            Where it was said
          </Link>
          {isEdited && <span className="tag">edited</span>}
          <span className="spacer" />
          <button type="button" className="quiet" onClick={() => setMode('edit')}>
            Edit
          </button>
          <button type="button" className="quiet" onClick={() => setMode('erase')}>
            Erase
          </button>
        </p>
      )}
    </li>
  )
}
