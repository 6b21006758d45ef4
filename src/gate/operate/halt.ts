import type { HaltScope } from '../../core/journal/lines/operate.js'
import { signed } from '../signed-event.js'
import { type Acting, recordActor } from './actor.js'

export type { HaltScope }

export type Halts = readonly HaltScope[]

export const sameScope = (a: HaltScope, b: HaltScope): boolean =>
  a.kind === b.kind && (a.kind === 'all' || (b.kind !== 'all' && a.name === b.name))

/** Whom and what a halt may name. A session is of no tool, and a call may be of no session. */
type Halted = {
  readonly agent: string
  readonly operator: string
  readonly tool?: string
  readonly sessionId?: string
}

/** The halt that stops this call or session, if any. */
export function haltFor(
  halts: Halts,
  { agent, operator, tool, sessionId: session }: Halted,
): HaltScope | null {
  const named = { agent, operator, tool, session }
  return halts.find((halt) => halt.kind === 'all' || named[halt.kind] === halt.name) ?? null
}

/** Journals the change, signed, with a pseudonym of who made it; the caller then raises the generation. */
export async function recordHalt(
  type: 'HALT' | 'RESUME',
  scope: HaltScope,
  by: string,
  parts: Acting,
): Promise<void> {
  const who = await recordActor(by, { did: type, scope: { ...scope } }, parts)
  await parts.journal.append([signed(type, { scope, ...who }, parts)])
}
