import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { payloadOf } from '../../../src/core/capsule/build.js'
import { attestationRule, effectMode } from '../../../src/core/capsule/derive.js'
import { HumanDecision } from '../../../src/core/capsule/human.js'
import { ObservedResponse } from '../../../src/core/capsule/observation.js'
import { buildOutcome } from '../../../src/core/capsule/outcome.js'
import { NEVER_DISPATCH, VERDICT_CLASSES } from '../../../src/core/capsule/registries.js'
import { EFFECT_STATUSES } from '../../../src/core/capsule/shapes.js'
import { isUtcTimestamp } from '../../../src/core/capsule/timestamp.js'
import { canonicalOf, jsonDigest } from '../../../src/core/json/build.js'
import { verifyCapsule, verifyLedger } from '../../../src/verify.js'
import {
  assent,
  build,
  cap,
  complete,
  cut,
  effect,
  input,
  outcomeSample,
  permitted,
  response,
  samples,
  sha256,
} from './samples.js'

const policy = { kind: 'policy' } as const
const ran = { kind: 'ran', by: policy, effect } as const
/** A caller without types. */
const untyped = (value: unknown) => build(value as Parameters<typeof build>[0])

describe('every verdict', () => {
  const all = samples()
  const classes = new Set(all.map(({ capsule }) => capsule.disposition.verdict_class))

  it('covers all twelve classes of the registry', () => {
    expect([...classes].sort()).toEqual([...VERDICT_CLASSES].sort())
  })

  for (const { name, capsule } of all) {
    it(`${name}: passes Class 1 strict without a finding beyond its own effect type`, () => {
      const store = new Set(all.map((one) => one.capsule.capsule_id))
      const result = verifyCapsule(payloadOf(capsule), { store, crypto: nodeCrypto })
      expect(result.ok).toBe(true)
      expect(result.capsule_id_recomputed).toBe(capsule.capsule_id)
      expect(result.findings.filter(({ code }) => code !== 'unknown_registry_value')).toEqual([])
    })
  }

  it('is written once, and as whoever writes it again would', () => {
    for (const { capsule } of all) {
      const { capsule_id, chain, ...addressed } = capsule
      // A copy, so that nothing remembers what was written.
      expect(payloadOf(capsule)).toBe(canonicalOf({ ...capsule }))
      expect(capsule_id).toBe(jsonDigest(addressed, nodeCrypto))
    }
  })

  it('is addressed by its normalized form also where a caller without types put something empty', () => {
    const capsule = untyped({
      ...input({ kind: 'refused', verdict_class: 'denied' }),
      verdict: { kind: 'refused', verdict_class: 'denied', authority: {} },
    })
    const { capsule_id, chain, ...addressed } = capsule
    expect(payloadOf(capsule)).toContain('"authority":{}')
    expect(payloadOf(capsule)).toBe(canonicalOf({ ...capsule }))
    expect(capsule_id).toBe(jsonDigest(addressed, nodeCrypto))
  })

  it('makes a ledger that holds, with exactly the unclosed items open', () => {
    const text = all.map(({ capsule }) => payloadOf(capsule)).join('\n')
    const { results, open_items } = verifyLedger(text, { crypto: nodeCrypto })
    expect(results.map(({ ok }) => ok)).toEqual(all.map(() => true))
    const open = all.filter(({ capsule }) => open_items.includes(capsule.capsule_id))
    expect(open.map(({ name }) => name)).toEqual(['blocked', 'needs_decision'])
  })

  it('says confirmed exactly where a complete success was observed', () => {
    const confirmed = all.filter(({ capsule }) => capsule.effect?.status === 'confirmed')
    expect(confirmed.map(({ name }) => name)).toEqual([
      'executed',
      'executed after a person approved',
      'executed under a standing grant',
      'executed and bound by octets',
    ])
  })

  it('says gate_executed only where the gate itself sent the call', () => {
    const claimed = all.filter(
      ({ capsule }) => capsule.effect?.effect_attestation === 'runtime_claimed',
    )
    expect(claimed.map(({ name }) => name)).toEqual([
      'executed, claimed by the runtime',
      'executed, a claimed failure',
      'errored, the runtime threw',
      'timeout, a permit that was not reported on',
      'errored, a permit recovered after a crash',
      'errored, reported without a permit',
    ])
  })

  it('accepts nothing that came without a permit', () => {
    const { capsule } = all.at(-1) ?? {}
    expect(capsule?.disposition).toEqual({
      decision: 'reject',
      approver: 'policy',
      human_disposed: false,
      verdict_class: 'errored',
      reason_digest: sha256('reason'),
    })
    const accepted = all.filter(({ capsule }) => capsule.disposition.decision === 'accept')
    const sent = all.filter(({ capsule }) => capsule.effect !== undefined)
    expect(sent.length).toBe(accepted.length + 1)
  })

  it('says human_disposed exactly where a person decided', () => {
    const human = all.filter(({ capsule }) => capsule.disposition.human_disposed)
    expect(human.map(({ name }) => name)).toEqual([
      'deferred',
      'resolved',
      'executed after a person approved',
    ])
  })
})

describe('derivation', () => {
  it('is total over the statuses: only planned and no effect escape the attestation', () => {
    const digest = sha256('x')
    const rule = (status: unknown) =>
      attestationRule(effectMode({ status, response_digest: digest }))
    expect(EFFECT_STATUSES.map(rule)).toEqual(['absent', ...Array(4).fill('required')])
    expect(attestationRule(effectMode(null))).toBe('absent')
    for (const status of [undefined, null, 'finished', 7]) expect(rule(status)).toBe('required')
  })

  it('takes confirmed without a well-formed digest for a mere dispatch', () => {
    for (const response_digest of [undefined, '', sha256('x').toUpperCase(), 'a'.repeat(63), 1])
      expect(effectMode({ status: 'confirmed', response_digest })).toBe('dispatched_unconfirmed')
  })
})

describe('for callers without types', () => {
  const refuses = (what: string, value: unknown, why: RegExp): void =>
    it(`refuses ${what}`, () => {
      expect(() => untyped(value)).toThrow(why)
    })
  const look = {
    seen: response(200).seen,
    get assent() {
      return assent('approve').assent
    },
  }
  const sent = (extra: object) => input({ ...ran, verdict_class: 'executed', ...extra } as never)

  refuses(
    'confirmed from something shaped like an observed response',
    sent({ observation: { kind: 'complete', response: look, success: true } }),
    /read to its end/,
  )
  refuses(
    'a response of what a runtime did',
    input({
      ...ran,
      effect: permitted,
      verdict_class: 'executed',
      observation: complete(200, true),
    } as never),
    /not seen by the gate/,
  )
  const ungated = { kind: 'ungated', effect, reason_digest: sha256('reason') } as const
  refuses(
    'a judgement of what came without a permit',
    { ...input(ungated), extensions: { 'dev.capsulegate.mode': 'enforce' } },
    /ungated claims mode/,
  )
  refuses(
    'a check of what came without a permit',
    { ...input(ungated), extensions: {}, constraints: [cap('pass', false)] },
    /ungated claims a constraint/,
  )
  refuses(
    'confirmed from an object that inherits from one',
    sent({
      observation: { kind: 'complete', response: Object.create(response(200)), success: true },
    }),
    /read to its end/,
  )
  refuses(
    'a human from something shaped like a decision',
    sent({ by: { kind: 'human', decision: look }, observation: complete(200, true) }),
    /authenticated person/,
  )
  refuses(
    'a decision on another request',
    sent({
      by: { kind: 'human', decision: assent('approve', { requestDigest: sha256('other') }) },
      observation: complete(200, true),
    }),
    /another request/,
  )
  refuses(
    'running what a person denied',
    sent({ by: { kind: 'human', decision: assent('deny') }, observation: complete(200, true) }),
    /said deny/,
  )
  refuses(
    'an approval as a closure',
    input(
      { kind: 'disposed', decision: assent('approve') },
      { chain: { supersedes: sha256('p') } },
    ),
    /closes nothing/,
  )
  refuses(
    'another decision_id than the person decided',
    {
      ...sent({
        by: { kind: 'human', decision: assent('approve') },
        observation: complete(200, true),
      }),
      extensions: { 'dev.capsulegate.decision_id': 'another' },
    },
    /another decision_id/,
  )
  refuses('executed from a cut response', sent({ observation: cut(false) }), /does not follow/)
  refuses(
    'timeout without a deadline',
    input({ ...ran, verdict_class: 'timeout', observation: cut(false) }),
    /deadline/,
  )
  refuses(
    'expiry_policy outside a deferral',
    input(
      {
        kind: 'disposed',
        decision: assent('deny'),
        expiry_policy: { ttl_seconds: 1, on_expiry: 'expired' },
      },
      { chain: { supersedes: sha256('p') } },
    ),
    /deferral/,
  )
  refuses(
    'a closure of nothing',
    input({ kind: 'disposed', decision: assent('deny') }),
    /supersedes/,
  )
  refuses('blocked by nothing', input({ kind: 'refused', verdict_class: 'blocked' }), /gated/)
  refuses(
    'a run past a gating constraint',
    input(
      { ...ran, verdict_class: 'executed', observation: complete(200, true) },
      {
        constraints: [cap('fail', true)],
      },
    ),
    /gated/,
  )
  refuses(
    'a pass that gated',
    input({ kind: 'refused', verdict_class: 'denied' }, { constraints: [cap('pass', true)] }),
    /only a fail gates/,
  )
  refuses(
    'deferred in the name of policy',
    input({ kind: 'refused', verdict_class: 'deferred' } as never),
    /not a refusal by policy/,
  )
  refuses(
    'a bad parent',
    input({ kind: 'refused', verdict_class: 'expired' }, { chain: { supersedes: 'abc' } }),
    /hex/,
  )
  refuses(
    'a constraint claimed by a record whose evidence is gone',
    input(
      { kind: 'recovered', evidence: 'missing', effect },
      { constraints: [cap('pass', false)], extensions: {} },
    ),
    /claims a constraint/,
  )
  for (const name of ['manifest_digest', 'policy_digest', 'mode'])
    refuses(
      `${name} claimed by a record whose evidence is gone`,
      input(
        { kind: 'recovered', evidence: 'missing', effect },
        { extensions: { [`dev.capsulegate.${name}`]: name === 'mode' ? 'enforce' : sha256(name) } },
      ),
      /without evidence claims/,
    )
  for (const name of ['recovered', 'outcome_of'])
    refuses(
      `a caller who sets ${name}`,
      input({ kind: 'timed_out' }, { extensions: { [`dev.capsulegate.${name}`]: true } as never }),
      /not the caller's/,
    )
  for (const name of ['effect', 'chain', 'capsule_id', '_sd', '_sd_alg', '...', 'dev.other'])
    refuses(
      `${name} smuggled in as an extension`,
      input({ kind: 'timed_out' }, { extensions: { [name]: {} } as never }),
      /unknown member/,
    )
  for (const name of ['_sd', '_sd_alg', '...'])
    refuses(
      `${name} inside an extension`,
      input(
        { kind: 'timed_out' },
        {
          extensions: {
            'dev.capsulegate.deadline': { ttl_seconds: 1, on_expiry: 'x', [name]: [] },
          } as never,
        },
      ),
      /reserved/,
    )
  refuses(
    'a constraint with a member of its own',
    input(
      { kind: 'refused', verdict_class: 'denied' },
      {
        constraints: [{ ...cap('fail', true), note: 'amount was 9999' } as never],
      },
    ),
    /unknown member/,
  )
  for (const [name, value] of [
    ['action_id', ''],
    ['operator', 7],
    ['developer', undefined],
    ['timestamp', '2026-02-30T00:00:00Z'],
    ['action_type', 'maybe'],
  ] as const)
    refuses(
      `${name} ${String(value)}`,
      {
        ...input({ kind: 'timed_out' }),
        identity: { ...input({ kind: 'timed_out' }).identity, [name]: value },
      },
      new RegExp(name),
    )
  refuses(
    'a float',
    input(
      { kind: 'timed_out' },
      {
        extensions: { 'dev.capsulegate.deadline': { ttl_seconds: 1.5, on_expiry: 'timeout' } },
      },
    ),
    /reproducible/,
  )

  it('reads the witness, not a getter put over it', () => {
    const genuine = response(200)
    Object.defineProperty(genuine, 'seen', { value: { responseDigest: sha256('forged') } })
    const capsule = build(
      input({
        ...ran,
        verdict_class: 'executed',
        observation: { kind: 'complete', response: genuine, outcome: 'succeeded' },
      }),
    )
    expect(capsule.effect?.response_digest).toBe(response(200).seen.responseDigest)
  })

  it('keeps what was witnessed from changing afterwards', () => {
    const octets = { ...response(200).seen.octets }
    const kept = ObservedResponse.witness({ ...response(200).seen, octets })
    Object.assign(octets, { digest: sha256('forged') })
    expect(kept.seen.octets.digest).not.toBe(sha256('forged'))
    expect(() => Object.assign(kept.seen.octets, { length: 0 })).toThrow(TypeError)
    expect(() => HumanDecision.authenticated({ ...assent('deny').assent, approver: '' })).toThrow()
  })
})

describe('never-dispatch classes', () => {
  it('carry no effect, whatever an untyped caller adds', () => {
    fc.assert(
      fc.property(fc.constantFrom(...NEVER_DISPATCH), fc.boolean(), (verdict_class, gated) => {
        const value = input(
          { kind: 'refused', verdict_class, effect, observation: complete(200, true) } as never,
          { constraints: gated ? [cap('fail', true)] : [], chain: { supersedes: sha256('p') } },
        )
        try {
          const capsule = untyped(value)
          expect(capsule.effect).toBeUndefined()
          expect(capsule.assurance.effect_mode).toBe('not_applicable')
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError)
        }
      }),
    )
  })
})

describe('outcomes', () => {
  const original = build(
    input({ ...ran, verdict_class: 'executed', observation: complete(201, true) }),
  )
  it('names the original and keeps its own action_id', () => {
    const outcome = outcomeSample(original)
    expect(outcome['dev.capsulegate.outcome_of']).toBe(original.capsule_id)
    expect(outcome.action_id).not.toBe(original.action_id)
    expect(outcome.effect).toMatchObject({ status: 'reverted', external_ref: 're_77' })
    expect(verifyCapsule(payloadOf(outcome), { crypto: nodeCrypto }).ok).toBe(true)
  })

  it('grades every claimed status runtime_claimed and never says confirmed', () => {
    for (const status of ['completed', 'failed', 'reverted'] as const) {
      const outcome = buildOutcome(
        {
          identity: { ...input({ kind: 'timed_out' }).identity },
          original: { capsule_id: original.capsule_id, decision_id: 'd', effect },
          outcome: { kind: 'claimed', status, resultDigest: sha256('r') },
          external_ref: 're_77',
        },
        nodeCrypto,
      )
      expect(outcome.effect?.effect_attestation).toBe('runtime_claimed')
      expect(outcome.effect?.status).toBe(status === 'completed' ? 'dispatched' : status)
      expect(verifyCapsule(payloadOf(outcome), { crypto: nodeCrypto }).ok).toBe(true)
    }
  })
})

describe('timestamps', () => {
  it('takes RFC 3339 UTC with Z and days that exist', () => {
    const good = ['2026-06-13T00:00:00Z', '2024-02-29T23:59:60Z', '2026-01-01T00:00:00.123456789Z']
    const bad = [
      '',
      '2026-06-13',
      '2026-06-13T00:00:00',
      '2026-06-13T00:00:00z',
      '2026-06-13t00:00:00Z',
      '2026-06-13T00:00:00+00:00',
      '2026-06-13 00:00:00Z',
      '2026-02-29T00:00:00Z',
      '2100-02-29T00:00:00Z',
      '2026-13-01T00:00:00Z',
      '2026-00-01T00:00:00Z',
      '2026-06-31T00:00:00Z',
      '2026-06-13T24:00:00Z',
      '2026-06-13T00:60:00Z',
      '2026-06-13T12:00:60Z',
      '2026-06-13T00:00:00.Z',
      ' 2026-06-13T00:00:00Z',
      '2026-06-13T00:00:00Z\n',
    ]
    expect(good.filter((text) => !isUtcTimestamp(text))).toEqual([])
    expect(bad.filter(isUtcTimestamp)).toEqual([])
  })
})
