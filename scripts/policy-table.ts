// Writes docs/policy.md, the table of every field of a policy, from the rules themselves: `node scripts/policy-table.ts`.

import { writeFileSync } from 'node:fs'
import { operatorPaths } from '../packages/oriel/src/policy/caller-policy.ts'
import { type PolicyField, policyFields } from '../packages/oriel/src/policy/fields.ts'

export const policyPage = new URL('../docs/policy.md', import.meta.url)

/** The whole page. */
export function policyTable(): string {
  return `# Every field of a policy

Made by \`node scripts/policy-table.ts\` from the rules in \`packages/oriel/src/rules/\`. What each field means is in the types and in the guides. A default holds when
the field's part is on. What you name yourself (\`expiry.tools\`, \`expiry.kinds\`, \`expiry.toolDefaults\`, rules of your own) has no variable and no parameter.

| field | values | default | environment | URL parameter |
|---|---|---|---|---|
${policyFields.map(row).join('\n')}
`
}

function row(field: PolicyField): string {
  const { path, defaultText, variable, parameter } = field
  const address = operatorPaths.has(path) ? 'none: only the operator sets it' : `\`${parameter}\``
  const cells = [`\`${path}\``, valuesOf(field), defaultText, `\`${variable}\``, address]
  return `| ${cells.join(' | ')} |`
}

function valuesOf({ kind, choices, accepts }: PolicyField): string {
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(', ')
  if (kind === 'integer') return accepts(0) ? 'integer, from 0' : 'integer, from 1'
  if (kind === 'share') return '0 to 1'
  return kind === 'boolean' ? '`true`, `false`' : 'text'
}

if (import.meta.main) writeFileSync(policyPage, policyTable())
