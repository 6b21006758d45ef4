import { ARG_NAME, TOOL_NAME } from '../../core/manifest/expand/names.js'
import { UsageError } from '../output/print.js'

/** As policies can name it without being anything else. */
export function agentName(given: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9._@:/-]{0,127}$/.test(given)) return given
  throw new UsageError(`${given} is no agent name: letters, digits and . _ @ : / -`)
}

export function toolName(wanted: string, method: string): string {
  const plain = wanted
    .replace(/[^A-Za-z0-9]+/g, '_')
    .replace(/^[^A-Za-z]+|_+$/g, '')
    .slice(0, 100)
  return TOOL_NAME.test(plain) ? plain : `${method}_tool`
}

export function argName(wanted: string): string {
  const plain = wanted.replace(/[^A-Za-z0-9]+/g, '_').replace(/^[^A-Za-z]+/, '')
  return ARG_NAME.test(plain) ? plain : 'arg'
}

/** Ids are the manifest's, not the tool's. */
export const constraintId = (tool: string, arg: string): string =>
  `${tool.slice(0, 28)}_${arg.slice(0, 26)}`.toLowerCase()

/** A name not taken yet, which it then is; names are compared by their `key`. */
export function unique(taken: Set<string>, wanted: string, key = (name: string) => name): string {
  let name = wanted
  for (let n = 2; taken.has(key(name)); n++) name = `${wanted.slice(0, 56)}_${n}`
  taken.add(key(name))
  return name
}
