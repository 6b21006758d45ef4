import type { Admitted, Intended, Parts } from '../context.js'
import { bearing, borneBefore } from '../intent/declare/bearing.js'
import { commit } from '../intent/declare/commit.js'
import { mayProceed } from '../intent/declare/may-proceed.js'
import { resume } from '../intent/declare/resume.js'
import { showMandate } from '../intent/declare/show-mandate.js'
import { validate } from '../intent/declare/validate.js'
import { advance } from './advance.js'
import { type Refused, refuse } from './exit.js'

const NOTHING = { intent: null, mandate: null, object: null } as const

/**
 * What does the agent say it is about to do? The mandate first, then the declaration (seed
 * intent-declaration-primitive-01 §5.2 a–g), which is signed and has its place in the journal before anything
 * judges the call. A call that goes on after a wait brings a declaration that is on record already.
 */
export function declare(
  admitted: Admitted,
  parts: Parts,
): Intended | Refused | Promise<Intended | Refused> {
  const { rule, call } = admitted
  const { declared, caller } = call
  // One that is on record stays with its call, whatever the manifest asks for by now.
  const asks =
    rule.intent === 'required' ||
    declared?.kind === 'committed' ||
    (rule.intent === 'optional' && declared !== undefined)
  if (asks) return declareFor(admitted, parts)
  // A mandate that identifies its bearer holds whatever the tool asks for.
  if (caller.bearer !== null && parts.mandates.isOne(caller.bearer)) return bearing(admitted, parts)
  const { mandate } = admitted.agent
  return mandate === undefined ? advance(admitted, NOTHING) : borneBefore(admitted, mandate, parts)
}

async function declareFor(admitted: Admitted, parts: Parts): Promise<Intended | Refused> {
  const { declared } = admitted.call
  if (declared?.kind === 'committed') return resume(admitted, declared, parts)
  if (declared?.fault !== undefined) {
    const details = { field: declared.fault.startsWith('mandate') ? 'mandate' : 'intent' }
    return refuse(admitted, 'intent_malformed', { observed: declared.fault }, details)
  }
  const octets = declared?.intent ?? null
  if (octets === null && admitted.rule.intent === 'optional') return bearing(admitted, parts)
  const mandate = await showMandate(admitted, parts)
  if ('exit' in mandate) return mandate
  if (octets === null) {
    return refuse(advance(admitted, { ...NOTHING, mandate }), 'intent_missing')
  }
  const valid = await validate(admitted, mandate, octets, parts)
  if ('exit' in valid) return valid
  const intent =
    valid.kind === 'on_record' ? valid.intent : await commit(admitted, mandate, valid, parts)
  return 'exit' in intent ? intent : mayProceed(admitted, { intent, mandate }, parts)
}
