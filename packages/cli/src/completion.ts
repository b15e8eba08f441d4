// Shell completion: commands, options, and the values that options name. Made from the same table as the help.

import { OrielError } from 'oriel/project'
import { didYouMean } from './names.ts'

export interface CompletedCommand {
  readonly name: string
  readonly description: string
  /** With their dashes: `--json`. */
  readonly options: readonly CompletedOption[]
  /** Its arguments to choose from, such as the names of agents. @default files */
  readonly names?: readonly string[]
}

export interface CompletedOption {
  readonly name: string
  readonly description: string
  /** Values to choose from. @default files */
  readonly values?: readonly string[]
}

export const shells = ['bash', 'zsh', 'fish'] as const
type Shell = (typeof shells)[number]

/** The script that a shell reads at its start. Throws 'invalid-option' for another shell. */
export function completionScript(shell: unknown, commands: readonly CompletedCommand[]): string {
  if (!isShell(shell)) {
    const hint = typeof shell === 'string' ? didYouMean(shell, shells) : ''
    const usage = `completion needs the name of a shell${hint}: ${shells.join(', ')}`
    throw new OrielError('invalid-option', `${usage}.`)
  }
  return { bash, zsh, fish }[shell](commands)
}

function isShell(shell: unknown): shell is Shell {
  return shells.some((one) => one === shell)
}

function bash(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(
    ({ name, options, names = [] }) =>
      `    ${name}) words='${options.map((one) => one.name).join(' ')}' names='${names.join(' ')}' ;;`,
  )
  const values = valuesOf(commands).map(
    ([name, words]) =>
      `    ${name}) COMPREPLY=($(compgen -W '${words.join(' ')}' -- "$word")); return ;;`,
  )
  return `# oriel completion for bash. In ~/.bashrc: eval "$(oriel completion bash)"
_oriel() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" words='' names=''
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} --help --version' -- "$word"))
    return
  fi
  case "$before" in
${values.join('\n')}
  esac
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
  esac
  # Where a command has no names to choose from, bash completes files by itself.
  case "$word" in
    -*) COMPREPLY=($(compgen -W "$words --help" -- "$word")) ;;
    *) COMPREPLY=($(compgen -W "$names" -- "$word")) ;;
  esac
}
complete -o default -F _oriel oriel
`
}

function zsh(commands: readonly CompletedCommand[]): string {
  const quoted = (text: string): string =>
    text.replaceAll(/['[\]:\\]/g, (one) => (one === "'" ? "'\\''" : `\\${one}`))
  const cases = commands.map(({ name, options, names: words }) => {
    const rest = words === undefined ? "'*:file:_files'" : `'*:name:(${words.join(' ')})'`
    const lines = options.map(({ name: option, description, values }) => {
      const chosen = values === undefined ? '' : `:value:(${values.join(' ')})`
      return `'${option}[${quoted(description)}]${chosen}'`
    })
    return `    ${name}) _arguments ${[...lines, rest].join(' ')} ;;`
  })
  const names = commands.map(({ name, description }) => `'${name}:${quoted(description)}'`)
  return `#compdef oriel
# oriel completion for zsh. In ~/.zshrc, after compinit: eval "$(oriel completion zsh)"
_oriel() {
  local -a commands
  commands=(${names.join(' ')})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="$words[2]"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _oriel oriel
`
}

function fish(commands: readonly CompletedCommand[]): string {
  const quoted = (text: string): string =>
    `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
  const lines = commands.flatMap(({ name, description, options, names = [] }) => [
    `complete -c oriel -n __fish_use_subcommand -f -a ${name} -d ${quoted(description)}`,
    ...(names.length === 0
      ? []
      : [`complete -c oriel -n '__fish_seen_subcommand_from ${name}' -f -a '${names.join(' ')}'`]),
    ...options.map(({ name: option, description: text, values }) => {
      const chosen = values === undefined ? '' : ` -x -a '${values.join(' ')}'`
      return `complete -c oriel -n '__fish_seen_subcommand_from ${name}' -l ${option.slice(2)} -d ${quoted(text)}${chosen}`
    }),
  ])
  return `# oriel completion for fish: oriel completion fish > ~/.config/fish/completions/oriel.fish
${lines.join('\n')}
`
}

/** The values of each option that has some; the same option has the same ones in every command. */
function valuesOf(
  commands: readonly CompletedCommand[],
): readonly (readonly [string, readonly string[]])[] {
  const found = new Map<string, readonly string[]>()
  for (const { name, values } of commands.flatMap(({ options }) => options)) {
    if (values !== undefined) found.set(name, values)
  }
  return [...found]
}
