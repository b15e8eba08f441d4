// The options of `oriel doctor`, checked.

import type { RawOptions } from '../inspect/settings.ts'
import { type Choice, readChoice, readPath } from './place.ts'

export interface DoctorSettings {
  readonly path: string
  readonly choice: Choice
  readonly isRepairing: boolean
  /** Repairs without asking. */
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
