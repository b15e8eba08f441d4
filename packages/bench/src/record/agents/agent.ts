// Runs a coding agent headless, in its own directories, against the scripted server.

import { spawn } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Reply, ScriptedCall, WireFormat } from '../reply.ts'
import type { Step } from '../script.ts'
import type { Asked } from '../server.ts'

export type Mode = 'new' | 'continue'

/** One start of the agent. */
export interface Run {
  readonly prompt: string
  readonly mode: Mode
  /** The agent may end with an error: the command is expected to be refused. */
  readonly mayFail?: boolean
  /** Afterwards keep the agent's state, or take it back to what was kept. */
  readonly after?: 'keep' | 'restore'
}

/** Directories of an agent during a recording. Fixed names make recordings reproducible. */
export interface Rooms {
  readonly home: string
  readonly project: string
  readonly url: string
}

export interface Command {
  readonly file: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export interface Agent {
  /** Names the fixture's file. */
  readonly name: string
  readonly client: string
  readonly format: WireFormat
  readonly description: string
  /** The frame is cut to this many characters per text; absent keeps it whole. */
  readonly frameChars?: number
  /** The agent's own tools for what the script wants done. */
  readonly calls: AgentCalls
  /** Status of the one request that fails. @default 500 */
  readonly failWith?: number
  /** Messages that the agent sends for one edited prompt. @default 1 */
  readonly editedMessages?: number
  /** Writes the agent's configuration. */
  prepare(rooms: Rooms): void
  command(prompt: string, mode: Mode, rooms: Rooms): Command
  /** 'main', 'sub' for a sub-agent, or 'side' for anything else. */
  route(asked: Asked): 'main' | 'sub' | 'side'
  /** Replaces the usual steps. */
  readonly steps?: Readonly<Record<string, readonly Step[]>>
  /** Replaces the usual runs. */
  readonly runs?: readonly Run[]
  readonly sideReply?: Reply
}

export interface AgentCalls {
  read(path: string): ScriptedCall
  shell(command: string): ScriptedCall
  /** Absent if the agent has no sub-agents. */
  delegate?(prompt: string): ScriptedCall
}

const timeoutMs = 90_000
const agentFolder = dirname(fileURLToPath(import.meta.url))

/** A file of an installed agent. */
export function installed(path: string): string {
  return join(agentFolder, 'node_modules', path)
}

const base = join(tmpdir(), 'oriel-agents')

/** Working directory of every agent. */
export const projectFolder: string = join(base, 'project')

/** The names of the tools that a request offers, in any of the formats. */
export function toolNames({ body }: Asked): readonly string[] {
  const tools = Array.isArray(body.tools) ? (body.tools as readonly WireTool[]) : []
  return tools.map((tool) => tool.name ?? tool.function?.name ?? tool.type ?? '')
}

interface WireTool {
  readonly type?: string
  readonly name?: string
  readonly function?: { readonly name?: string }
}

/** Empty folders with a small project in them. */
export function openRooms(url: string): Rooms {
  removeRooms()
  const rooms = { home: join(base, 'home'), project: projectFolder, url }
  mkdirSync(rooms.home, { recursive: true })
  mkdirSync(rooms.project, { recursive: true })
  writeFileSync(join(rooms.project, 'notes.txt'), 'first line\nsecond line  \n\n\tfourth „line“\n')
  return rooms
}

/** Copies everything the agent keeps, so that it can be taken back to this point. */
export function keepState(rooms: Rooms): void {
  rmSync(`${rooms.home}.kept`, { recursive: true, force: true })
  cpSync(rooms.home, `${rooms.home}.kept`, { recursive: true, verbatimSymlinks: true })
}

/** Takes the agent back to the point of `keepState`, as a person does who rewinds a conversation. */
export function restoreState(rooms: Rooms): void {
  rmSync(rooms.home, { recursive: true, force: true })
  cpSync(`${rooms.home}.kept`, rooms.home, { recursive: true, verbatimSymlinks: true })
}

export function removeRooms(): void {
  rmSync(base, { recursive: true, force: true })
}

/** Runs one command to its end and gives what it printed for programs; fails if it does, or after a minute and a half. */
export async function runCommand(command: Command, rooms: Rooms): Promise<string> {
  const child = spawn(command.file, command.args, {
    cwd: rooms.project,
    // Nothing of the surrounding environment: no keys, no settings, no other home.
    env: {
      HOME: rooms.home,
      PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      TERM: 'dumb',
      NO_COLOR: '1',
      LANG: 'C.UTF-8',
      ...command.env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  let printed = ''
  let output = ''
  const collect = (part: Buffer): void => {
    printed += part.toString('utf8')
  }
  child.stdout.on('data', collect)
  child.stdout.on('data', (part: Buffer) => {
    output += part.toString('utf8')
  })
  child.stderr.on('data', collect)
  const timer = setTimeout(() => endGroup(child.pid), timeoutMs)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject)
    child.on('exit', resolve)
  })
  clearTimeout(timer)
  endGroup(child.pid)
  if (code !== 0) throw new Error(`${command.file} ended with ${code}:\n${printed.slice(-4000)}`)
  return output
}

/** Ends the process and what it started, by the group that it leads. */
function endGroup(pid: number | undefined): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group is already gone.
  }
}
