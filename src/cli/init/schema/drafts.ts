import { WORDS } from '../../../core/manifest/expand/short-form.js'
import type { ArgDraft, ToolDraft } from '../draft.js'
import { argName, constraintId, unique } from '../names.js'
import type { Args, Found } from './schema.js'

/** Arguments under names of their own, however they are called where they come from. */
export function namedArgs(found: Iterable<readonly [wanted: string, one: Found]>): Args {
  const named: Record<string, Found> = Object.create(null)
  const taken = new Set<string>()
  for (const [wanted, one] of found) named[unique(taken, nameOf(wanted, one))] = one
  return named
}

/** In a constraint, `count` and a few others are words; a path's parameter is named by the path. */
function nameOf(wanted: string, { from, conditions }: Found): string {
  const name = argName(wanted)
  const isTaken = WORDS.some((word) => word === name) && Object.keys(conditions).length > 0
  return isTaken && !('path' in from) ? `${name}_arg` : name
}

export function draftsOf(tool: string, ids: Set<string>, found: Args) {
  const args: Record<string, ArgDraft> = {}
  const constraints: Record<string, ToolDraft['constraints'][string]> = {}
  for (const [name, { conditions, ...arg }] of Object.entries(found)) {
    args[name] = arg
    if (Object.keys(conditions).length === 0) continue
    const bounds = arg.optional ? { if_present: conditions } : conditions
    constraints[unique(ids, constraintId(tool, name))] = { [name]: bounds }
  }
  return { args, constraints }
}
