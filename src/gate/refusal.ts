import { callIdentity } from '../core/approval/call-identity.js'
import { exactText } from '../core/json/exact-text.js'
import type { Plain } from '../core/json/value.js'
import type { Approval } from '../ports.js'
import type { Matched, Parts } from './stage.js'

type Same = Pick<Matched, 'rule' | 'args' | 'notJudged' | 'requestOctets'>

/** What a rule lets through unjudged belongs to the call too. */
const letThrough = ({ notJudged, requestOctets }: Same): Plain => ({
  query: notJudged.query,
  members: notJudged.members.map(([pointer, value]) => [pointer, exactText(value)]),
  body: notJudged.body ? requestOctets.digest : null,
})

/** The call that a person's refusal would be about. */
export const identityOf = (known: Same, parts: Pick<Parts, 'tenantSalt'>): string =>
  callIdentity(
    { tool: known.rule.tool, args: known.args, letThrough: letThrough(known) },
    parts.tenantSalt,
  )

/** Whether a person refused it and that still stands at that time. */
export const stands = ({ refusedUntil }: Approval, at: string): boolean =>
  refusedUntil !== null && Date.parse(at) < Date.parse(refusedUntil)
