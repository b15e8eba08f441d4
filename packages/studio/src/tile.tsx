// One figure with its name and a note.

import type { ReactNode } from 'react'

export interface TileProps {
  readonly name: string
  readonly value: string
  readonly note: string
  readonly tone?: 'good' | undefined
}

export function Tile({ name, value, note, tone }: TileProps): ReactNode {
  return (
    <div className="tile" data-tile={name}>
      <dt>{name}</dt>
      <dd>
        <b className={tone === 'good' ? 'is-good' : undefined}>{value}</b>
        <span className="muted small">{note}</span>
      </dd>
    </div>
  )
}
