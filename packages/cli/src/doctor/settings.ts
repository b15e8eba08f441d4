// Options of `oriel doctor`.

import type { RawOptions } from '../inspect/settings.ts'
import { type Choice, readChoice, readPath } from './store-options.ts'

export interface DoctorSettings {
  readonly path: string
  readonly choice: Choice
  readonly isRepairing: boolean
  /** Repair without confirmation. */
  readonly isSure: boolean
  readonly isJson: boolean
}

export function readDoctorSettings(raw: RawOptions): DoctorSettings {
  return {
    path: readPath(raw),
    choice: readChoice(raw),
    isRepairing: raw.repair === true,
    isSure: raw.yes === true,
    isJson: raw.json === true,
  }
}
