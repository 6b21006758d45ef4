import type { HaltScope } from '../../core/journal/lines/operate.js'
import type { Parts } from '../context.js'
import { signed } from '../signed-event.js'
import { recordActor } from './actor.js'

/** The kill switch: per agent, tool, operator or everything. Durable, recorded, effective on the next call and on calls not yet sent. */
export type { HaltScope }

export type Halts = readonly HaltScope[]

export const sameScope = (a: HaltScope, b: HaltScope): boolean =>
  a.kind === b.kind && (a.kind === 'all' || (b.kind !== 'all' && a.name === b.name))

/** The halt that stops this call, if any. */
export function haltFor(
  halts: Halts,
  call: { readonly agent: string; readonly tool: string; readonly operator: string },
): HaltScope | null {
  return halts.find((halt) => halt.kind === 'all' || call[halt.kind] === halt.name) ?? null
}

/** Journals the change, signed, with a pseudonym of who made it; the caller turns the generation after it resolves. */
export async function recordHalt(
  parts: Pick<Parts, 'journal' | 'signer' | 'evidence' | 'ids' | 'crypto' | 'tenant'>,
  change: { readonly type: 'HALT' | 'RESUME'; readonly scope: HaltScope; readonly by: string },
): Promise<void> {
  const { type, scope, by } = change
  const who = await recordActor(by, { did: type, scope: { ...scope } }, parts)
  await parts.journal.append([signed(type, { scope, ...who }, parts)])
}
