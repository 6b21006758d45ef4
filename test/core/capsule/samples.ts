import { createHash } from 'node:crypto'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { buildCapsule } from '../../../src/core/capsule/build.js'
import { type Assent, HumanDecision } from '../../../src/core/capsule/human.js'
import type { CapsuleInput, EffectMeta, Verdict } from '../../../src/core/capsule/input.js'
import type { Capsule, ConstraintRecord, Octets } from '../../../src/core/capsule/model.js'
import { type Observation, ObservedResponse } from '../../../src/core/capsule/observation.js'
import { buildOutcome } from '../../../src/core/capsule/outcome.js'
import { jsonDigest } from '../../../src/core/json/build.js'

/** One honest record per verdict class and per row of DESIGN §6, all built by the builder. */

export const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')
export const digestOf = (value: Parameters<typeof jsonDigest>[0]): string =>
  jsonDigest(value, nodeCrypto)

const REQUEST_BODY = '{"order":"A-1001","currency":"EUR","amount":"129.90"}'
const RESPONSE_BODY = '{"id":"re_77","status":"succeeded"}'

export const requestOctets: Octets = {
  alg: 'sha-256',
  digest: sha256(REQUEST_BODY),
  length: REQUEST_BODY.length,
  content_type: 'application/json',
}
export const effect: EffectMeta = {
  type: 'com.acme.payments.create_refund',
  irreversibility_class: 'one_way_consequential',
  request_digest: digestOf({
    method: 'POST',
    upstream: 'payments',
    target: '/v1/refunds',
    content_type: 'application/json',
    tool: 'create_refund',
    body: { alg: 'sha-256', digest: sha256(REQUEST_BODY), length: REQUEST_BODY.length },
  }),
  request_octets: requestOctets,
}

/** Under a permit: the runtime acts. */
export const permitted: EffectMeta = { ...effect, acts: 'runtime' }

export function response(status: number, body = RESPONSE_BODY): ObservedResponse {
  return ObservedResponse.witness({
    framing: 'content_length',
    requestSent: true,
    status,
    octets: {
      alg: 'sha-256',
      digest: sha256(body),
      length: body.length,
      content_type: 'application/json',
      status,
      complete: true,
    },
    binding: 'json',
    responseDigest: digestOf(JSON.parse(body)),
    externalRef: 're_77',
  })
}
export const octetsOnly = (): ObservedResponse => {
  const body = 'refunded 129.90'
  const octets: Octets = {
    alg: 'sha-256',
    digest: sha256(body),
    length: body.length,
    content_type: 'text/plain',
    status: 200,
    complete: true,
  }
  return ObservedResponse.witness({
    framing: 'chunked',
    requestSent: true,
    status: 200,
    octets,
    binding: 'octets',
    responseDigest: digestOf(octets),
  })
}
export const complete = (
  status: number,
  success: boolean,
): Extract<Observation, { kind: 'complete' }> => ({
  kind: 'complete',
  response: response(status),
  outcome: status >= 500 ? 'failed' : success ? 'succeeded' : 'refused',
})
export const cut = (deadline: boolean): Extract<Observation, { kind: 'sent' }> => ({
  kind: 'sent',
  cause: deadline ? 'total' : 'reset',
  deadline,
})

export const DECISION = '01900000-0000-7000-8000-000000000001'
export const assent = (outcome: Assent['outcome'], more: Partial<Assent> = {}): HumanDecision =>
  HumanDecision.authenticated({
    decisionId: DECISION,
    requestDigest: effect.request_digest,
    documentDigest: sha256('document'),
    approver: 'dana@acme.example',
    assurance: 'L2',
    outcome,
    at: '2026-06-13T00:00:05.000Z',
    ...more,
  })

export const cap = (result: ConstraintRecord['result'], blocking: boolean): ConstraintRecord => ({
  id: 'com.acme.payments.amount_cap',
  result,
  severity: 'high',
  blocking,
  check_type: 'com.acme.payments.threshold',
  method: 'dev.capsulegate.decimal_compare',
  evidence_digest: sha256('evidence'),
})
const reason_digest = sha256('reason')
const policy = { kind: 'policy' } as const

let counter = 0
const id = (n: number): string => `01900000-0000-7000-8000-${String(n).padStart(12, '0')}`

export function input(verdict: Verdict, more: Partial<CapsuleInput> = {}): CapsuleInput {
  counter++
  return {
    identity: {
      action_id: id(counter),
      action_type: 'decide',
      operator: 'acme',
      developer: 'support-bot@1.4.0',
      timestamp: '2026-06-13T00:00:00.000Z',
    },
    verdict,
    constraints: [],
    extensions: {
      'dev.capsulegate.manifest_digest': sha256('manifest'),
      'dev.capsulegate.policy_digest': sha256('policy'),
      'dev.capsulegate.mode': 'enforce',
    },
    ...more,
  }
}
export const build = (from: CapsuleInput): Capsule => buildCapsule(from, nodeCrypto)

/** In ledger order: what a capsule supersedes stands before it. */
export function samples(): { name: string; capsule: Capsule }[] {
  counter = 0
  const out: { name: string; capsule: Capsule }[] = []
  const add = (name: string, verdict: Verdict, more: Partial<CapsuleInput> = {}): Capsule => {
    const capsule = build(input(verdict, more))
    out.push({ name, capsule })
    return capsule
  }
  const over = (parent: Capsule) => ({ chain: { supersedes: parent.capsule_id } })
  const deadline = {
    extensions: { 'dev.capsulegate.deadline': { ttl_seconds: 3600, on_expiry: 'timeout' } },
  } as const
  const asked = (name: string): Capsule =>
    add(
      name,
      { kind: 'refused', verdict_class: 'hitl_dispatched', reason_digest },
      { ...deadline, constraints: [cap('fail', true)] },
    )

  add(
    'executed',
    {
      kind: 'ran',
      verdict_class: 'executed',
      by: policy,
      effect,
      observation: complete(201, true),
    },
    { constraints: [cap('pass', false)] },
  )
  add(
    'blocked',
    { kind: 'refused', verdict_class: 'blocked', reason_digest },
    {
      constraints: [cap('fail', true)],
    },
  )
  const pending = asked('hitl_dispatched')
  add('denied', { kind: 'refused', verdict_class: 'denied', reason_digest })
  add('timeout', {
    kind: 'ran',
    verdict_class: 'timeout',
    by: policy,
    effect,
    observation: cut(true),
  })
  add('errored', {
    kind: 'ran',
    verdict_class: 'errored',
    by: policy,
    effect,
    observation: cut(false),
  })
  add('engine_failure', { kind: 'refused', verdict_class: 'engine_failure', reason_digest })
  const deferred = add(
    'deferred',
    {
      kind: 'disposed',
      decision: assent('defer'),
      expiry_policy: { ttl_seconds: 86_400, on_expiry: 'escalated' },
    },
    over(pending),
  )
  add(
    'needs_decision',
    { kind: 'refused', verdict_class: 'needs_decision', reason_digest },
    { constraints: [cap('fail', true)] },
  )
  const escalated = add(
    'escalated',
    { kind: 'refused', verdict_class: 'escalated' },
    over(deferred),
  )
  add('expired', { kind: 'refused', verdict_class: 'expired' }, over(escalated))
  const refusedByHuman = asked('hitl_dispatched, to be refused')
  add(
    'resolved',
    { kind: 'disposed', decision: assent('deny'), reason_digest },
    over(refusedByHuman),
  )

  const approved = asked('hitl_dispatched, to be approved')
  add(
    'executed after a person approved',
    {
      kind: 'ran',
      verdict_class: 'executed',
      by: { kind: 'human', decision: assent('approve') },
      effect,
      observation: complete(201, true),
    },
    over(approved),
  )
  add('executed under a standing grant', {
    kind: 'ran',
    verdict_class: 'executed',
    by: { kind: 'grant', authority: 'grant:refunds-under-50' },
    effect,
    observation: complete(201, true),
  })
  add('executed and bound by octets', {
    kind: 'ran',
    verdict_class: 'executed',
    by: policy,
    effect,
    observation: { kind: 'complete', response: octetsOnly(), outcome: 'succeeded' },
  })
  add('executed, the tool refused', {
    kind: 'ran',
    verdict_class: 'executed',
    by: policy,
    effect,
    observation: complete(422, false),
  })
  add('errored, the tool failed', {
    kind: 'ran',
    verdict_class: 'errored',
    by: policy,
    effect,
    observation: complete(500, false),
  })
  add('timeout before dispatch', { kind: 'timed_out' })
  const unanswered = asked('hitl_dispatched, never answered')
  add('timeout of an approval', { kind: 'timed_out' }, over(unanswered))
  add('errored, recovered after a crash', {
    kind: 'recovered',
    evidence: 'present',
    by: policy,
    effect,
  })
  add('executed, claimed by the runtime', {
    kind: 'ran',
    verdict_class: 'executed',
    by: policy,
    effect,
    observation: { kind: 'claimed', ok: true, resultDigest: sha256('result') },
  })
  add('executed, a claimed failure', {
    kind: 'ran',
    verdict_class: 'executed',
    by: policy,
    effect,
    observation: { kind: 'claimed', ok: false, resultDigest: sha256('result') },
  })
  add('errored, the runtime threw', {
    kind: 'ran',
    verdict_class: 'errored',
    by: policy,
    effect,
    observation: { kind: 'claimed', ok: false },
  })
  add(
    'errored, recovered after a crash, its evidence gone',
    { kind: 'recovered', evidence: 'missing', effect },
    { extensions: {} },
  )
  add('timeout, a permit that was not reported on', {
    kind: 'ran',
    verdict_class: 'timeout',
    by: policy,
    effect: permitted,
    observation: { kind: 'sent', cause: 'not_reported', deadline: true },
  })
  add('errored, a permit recovered after a crash', {
    kind: 'recovered',
    evidence: 'present',
    by: policy,
    effect: permitted,
  })
  add(
    'errored, reported without a permit',
    { kind: 'ungated', effect, reason_digest: sha256('reason') },
    { extensions: {} },
  )
  return out
}

export function outcomeSample(original: Capsule): Capsule {
  return buildOutcome(
    {
      identity: {
        action_id: id(900),
        operator: original.operator,
        developer: original.developer,
        timestamp: '2026-06-14T00:00:00.000Z',
      },
      original: {
        capsule_id: original.capsule_id,
        decision_id: original['dev.capsulegate.decision_id'] ?? original.action_id,
        effect,
      },
      outcome: { kind: 'observed', response: response(200), status: 'reverted' },
      external_ref: 're_77',
    },
    nodeCrypto,
  )
}
