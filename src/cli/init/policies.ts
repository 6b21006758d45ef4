import type { ToolDraft } from './draft.js'

const NOTHING_ELSE = '// What no policy permits is denied.'

/** What leaves the world as it was, or can be undone, is free; the rest asks a person, until the operator decides otherwise. */
export function draftPolicies(
  tools: readonly ToolDraft[],
  agent: string,
  head: readonly string[] = [],
): string {
  const permit = ({ name }: ToolDraft): string =>
    `@id("permit.${name}")\npermit (principal == Agent::"${agent}", action == Action::"${name}", resource);\n`
  const ask = ({ name }: ToolDraft): string =>
    `@id("ask.${name}") @hem("required")\nforbid (principal, action == Action::"${name}", resource)\nunless { context.approval.granted };\n`
  const of = (...classes: readonly ToolDraft['irreversibility'][]) =>
    tools.filter(({ irreversibility }) => classes.includes(irreversibility))
  const paragraph = (title: string, rules: readonly string[]): string[] =>
    rules.length === 0 ? [] : [`// ${title}\n${rules.join('\n')}`]
  const once = `${agent} may, once a person has approved the very call. Remove an "ask" to do without.`
  return [
    [...head.map((line) => `// ${line}`), NOTHING_ELSE].join('\n'),
    ...paragraph(`Reading: ${agent} may.`, of('two_way').map(permit)),
    ...paragraph(
      `Writing that can be undone: ${agent} may.`,
      of('one_way_recoverable').map(permit),
    ),
    ...paragraph(
      `Writing: ${once}`,
      of('one_way_consequential', 'one_way_terminal').flatMap((tool) => [permit(tool), ask(tool)]),
    ),
  ].join('\n')
}
