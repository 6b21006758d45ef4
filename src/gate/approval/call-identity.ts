import { callText } from '../../core/approval/document.js'
import { digestRequest, olderOctets } from '../../core/call/digest.js'
import type { Plain } from '../../core/json/value.js'
import { exactText } from '../../core/json/value.js'
import type { Approval } from '../../ports/state.js'
import type { Matched, Parts } from '../context.js'

type Same = Pick<Matched, 'call' | 'rule' | 'args' | 'notJudged' | 'requestOctets'>
type Naming = Pick<Parts, 'tenant' | 'crypto'>

/** What a rule lets through unjudged is part of the call too. */
const letThrough = ({ notJudged }: Same, body: string): Plain => ({
  query: notJudged.query,
  members: notJudged.members.map(([pointer, value]) => [pointer, exactText(value)]),
  body: notJudged.body ? body : null,
})

const textOf = (known: Same, body: string): string =>
  callText({ tool: known.rule.tool, args: known.args, letThrough: letThrough(known, body) })

/** Which call a person's refusal is about; the same where `known` has an older digest of the request. */
export const identityOf = (known: Same, parts: Naming): string => {
  const { call, rule, notJudged } = known
  const body = notJudged.body ? digestRequest(call, rule, parts).requestOctets.digest : ''
  return parts.tenant.callIdentity(textOf(known, body))
}

/** As older lines name it, so that a refusal from before an upgrade stands for its time. */
const olderIdentityOf = (known: Same, parts: Naming): string =>
  parts.tenant.older.callIdentity(textOf(known, olderOctets(known, parts).digest))

export const identitiesOf =
  (known: Same, parts: Naming): (() => readonly string[]) =>
  () => [identityOf(known, parts), olderIdentityOf(known, parts)]

/** Whether a person refused it and the refusal stands at that time. */
export const stands = ({ refusedUntil }: Approval, at: string): boolean =>
  refusedUntil !== null && Date.parse(at) < Date.parse(refusedUntil)
