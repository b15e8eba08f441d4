// Messages that a search found, in all threads.

import type { ReactNode } from 'react'
import { threadAddress } from '../address.ts'
import { api } from '../api.ts'
import type { Found, Info } from '../contract.ts'
import { Link } from '../link.tsx'
import { useLoad } from '../use-load.ts'

const limit = 6

export interface FoundMessagesProps {
  readonly query: string
  readonly info: Info
}

export function FoundMessages({ query, info }: FoundMessagesProps): ReactNode {
  const { data } = useLoad(query, (signal) => api.search(query, { limit }, signal))
  if (data === undefined || data.results.length === 0) return null
  return (
    <section className="found" aria-label="Messages found">
      <h2>Messages</h2>
      <ul>
        {data.results.map((found) => (
          <li key={`${found.thread} ${found.id}`}>
            <Link href={addressOf(found, info)}>
              <span className="row-role">{found.tool ?? found.role}</span>
              <span className="found-text">{found.text.slice(0, 240)}</span>
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

function addressOf({ thread, seq, tenant }: Found, info: Info): string {
  const whose = tenant === undefined || tenant === info.tenant ? {} : { tenant }
  return threadAddress(thread, { ...whose, block: `${seq}/0` })
}
