import { hex } from '../../core/bytes/hex.js'
import { vouchFor } from '../../core/journal/dispatch-evidence.js'
import { amountsContext } from '../../core/journal/encryption-context.js'
import { plainEntry } from '../../core/journal/entry.js'
import type { MembersOf } from '../../core/journal/vocabulary.js'
import { textDigest } from '../../core/json/build.js'
import { plainText } from '../../core/json/plain-text.js'
import type { Plain } from '../../core/json/value.js'
import { rowOf } from '../../core/verdict/verdict.js'
import type { Dispatch, Dispatched } from '../../ports/dispatch.js'
import type { EvidencePart, EvidenceRecord } from '../../ports/evidence.js'
import type { Known, Parts, Reserved } from '../context.js'
import { capturedRequest } from '../evidence/frozen.js'
import { RecordUnavailable, type Sent } from './exit.js'

/**
 * The intent to dispatch and the evidence known so far are durable before the first byte leaves
 * (promise 2); one generation number and the agent's own credentials are read again just before it
 * does (promise 5).
 */
export async function send(reserved: Reserved, dispatch: Dispatch, parts: Parts): Promise<Sent> {
  await recordIntent(reserved, parts)
  await parts.seam('before_first_byte')
  const dispatched = await run(reserved, dispatch, parts)
  await parts.seam('after_last_byte')
  return { exit: 'sent', known: reserved, code: rowOf(dispatched.observation), dispatched }
}

/** A dispatch that throws has an unknown outcome: bytes may have left. */
async function run(reserved: Reserved, dispatch: Dispatch, parts: Parts): Promise<Dispatched> {
  const stillAllowed = (): boolean =>
    parts.world().generation === reserved.world.generation &&
    parts.identity.isStillKnown(reserved.agent)
  if (!stillAllowed()) return nothingSent('withdrawn')
  try {
    const { actionId, call, rule } = reserved
    const saltedDigest = rule.digest_salt === 'tenant' ? parts.tenant.responseOctets : null
    return await dispatch({ actionId, call, rule, stillAllowed, saltedDigest })
  } catch (error) {
    parts.report({
      level: 'error',
      event: 'dispatch_threw',
      actionId: reserved.actionId,
      detail: String(error),
    })
    return { observation: { kind: 'sent', cause: 'dispatch_threw', deadline: false }, held: null }
  }
}

const nothingSent = (cause: string): Dispatched => ({
  observation: { kind: 'not_sent', cause, deadline: false },
  held: null,
})

async function recordIntent(reserved: Reserved, parts: Parts): Promise<void> {
  await parts.seam('before_intent')
  const { call, rule } = reserved
  const captured = rule.capture === 'full' ? capturedRequest(call, parts) : []
  const writing: Promise<unknown>[] = []
  try {
    const line = plainEntry('ACTION_DISPATCHED', intent(reserved, parts))
    // What `recover` believes of the line, because only the gate can seal it.
    const vouched = jsonPart('dispatch', 'dispatch', vouchFor(line.json, parts.crypto), parts)
    const evidence = [...reserved.evidence, ...captured, vouched]
    writing.push(parts.evidence.put(evidenceRecord(reserved, evidence, parts)))
    writing.push(parts.journal.append([line]))
    await Promise.all(writing)
  } catch (error) {
    // The line may still become durable: then it holds the claims, and only a capsule settles them.
    await Promise.allSettled(writing)
    await parts.state.settle(reserved.actionId, { kind: 'release' })
    throw new RecordUnavailable(String(error))
  }
  await parts.seam('after_intent')
}

/** That it may have been sent, how it was judged, and what it claims of keys, grants and budgets. */
function intent(reserved: Reserved, parts: Parts): MembersOf<'ACTION_DISPATCHED'> {
  const { rule, agent, world } = reserved
  return {
    action_id: reserved.actionId,
    decision_id: reserved.decisionId,
    operator: world.operator,
    agent: agent.agent,
    developer: agent.developer,
    tool: rule.tool,
    request_digest: reserved.requestDigest,
    request_octets: reserved.requestOctets,
    effect_type: rule.effect.type,
    irreversibility_class: rule.effect.irreversibility_class,
    manifest_digest: reserved.manifestDigest,
    policy_digest: world.policy.digest,
    mode: reserved.mode,
    constraints: reserved.records,
    ...(reserved.keyHash === null ? {} : { key: reserved.keyHash }),
    ...(reserved.grant === null ? {} : { grant: reserved.grant }),
    ...(reserved.supersedes === null ? {} : { supersedes: reserved.supersedes }),
    ...(reserved.claims.length === 0 ? {} : budgetsOf(reserved, parts)),
  }
}

/** Amounts are arguments: encrypted in the line, because an erasure of evidence must not refill a budget. */
function budgetsOf(
  { actionId, claims }: Reserved,
  { tenant }: Parts,
): Pick<MembersOf<'ACTION_DISPATCHED'>, 'budgets' | 'amounts'> {
  const budgets = claims.map(({ constraint, scope, windowSeconds, kind }) => ({
    constraint,
    scope,
    window_seconds: windowSeconds,
    kind,
  }))
  const sums = claims.filter(({ kind }) => kind === 'sum').map(({ amount }) => amount)
  if (sums.length === 0) return { budgets }
  return {
    budgets,
    amounts: tenant.amounts.seal(sums.join(' '), amountsContext(actionId, budgets)),
  }
}

/**
 * One evidence record of this action; sealed under the subject's key where the manifest names one. The subject
 * stands inside it too, so that what people say about the call later can be sealed under the same key.
 */
export function evidenceRecord(
  known: Known,
  evidence: readonly EvidencePart[],
  parts: Pick<Parts, 'ids' | 'crypto'>,
): EvidenceRecord {
  const named = known.rule?.subject === undefined ? undefined : known.args?.get(known.rule.subject)
  const subject = named === undefined ? null : String(named.value)
  return {
    actionId: known.actionId,
    operator: known.world.operator,
    subject,
    at: known.at,
    parts:
      subject === null
        ? evidence
        : [...evidence, saltedPart('subject', 'subject', { subject }, parts)],
  }
}

/** A private JSON value as an evidence part, with the salt that keeps its digest from being guessed. */
export function saltedPart(
  kind: EvidencePart['kind'],
  name: string,
  value: { readonly [name: string]: Plain },
  parts: Pick<Parts, 'ids' | 'crypto'>,
): EvidencePart {
  const salted = { ...value, salt: hex(parts.ids.random(16)) }
  return jsonPart(kind, name, salted, parts)
}

/** A private JSON value as an evidence part: written once, for its digest and for the store. */
export function jsonPart(
  kind: EvidencePart['kind'],
  name: string,
  value: Plain,
  { crypto }: Pick<Parts, 'crypto'>,
): EvidencePart {
  const text = plainText(value, 'normalized')
  return { digest: textDigest(text, crypto), kind, name, value, text }
}
