// Resource usage of a process from /proc: CPU time, memory, open files.

import { readdirSync, readFileSync } from 'node:fs'

export interface Use {
  /** User and system time of all threads since the start. */
  readonly cpuMs: number
  readonly rssMb: number
}

/** The kernel counts in hundredths of a second. */
const msPerTick = 10
const pageMb = 4096 / 2 ** 20

export function useOf(pid: number): Use {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name may hold spaces and brackets.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return {
    cpuMs: (Number(fields[11]) + Number(fields[12])) * msPerTick,
    rssMb: Number(fields[21]) * pageMb,
  }
}

export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}
