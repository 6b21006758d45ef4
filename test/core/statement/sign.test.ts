import { describe, expect, it } from '@jest/globals'
import { encode as cborgEncode } from 'cborg'
import type { CborMap } from '../../../src/core/bytes/cbor.js'
import { decodeSign1, sigStructure, toCose } from '../../../src/core/statement/sign1.js'
import { sampleCapsule, testKey } from './sample.js'
import { signCapsule } from './sign-capsule.js'

const key = testKey()
const seal = { statement: 'agent_action', kid: key.kid, sign: key.sign } as const
const claim = (protectedBytes: Uint8Array, label: number | string): unknown => {
  const payload = new Uint8Array()
  const read = decodeSign1(toCose(payload, protectedBytes, new Uint8Array(64)))
  return read.ok ? (read.sign1.protected.get(15) as CborMap).get(label) : null
}

describe('signStatement', () => {
  it('signs the Sig_structure of JCS of the whole capsule, chain included', () => {
    const chain = { parent_capsule_id: 'a'.repeat(64), relation: 'supersedes' } as const
    let signed: Uint8Array | null = null
    const { payload, protectedBytes } = signCapsule(sampleCapsule({ chain }), {
      ...seal,
      sign: (message) => {
        signed = message
        return key.sign(message)
      },
    })
    expect(payload).toContain('"relation":"supersedes"')
    expect(payload.startsWith('{"action_id":')).toBe(true)
    expect(signed).toEqual(sigStructure(protectedBytes, new TextEncoder().encode(payload)))
  })

  it('names the first call of a decision, which is itself unless the capsule says otherwise', () => {
    const alone = signCapsule(sampleCapsule(), seal)
    expect(claim(alone.protectedBytes, 'capsule_decision_id')).toBe(sampleCapsule().action_id)
    const later = signCapsule(sampleCapsule({ 'dev.capsulegate.decision_id': 'first' }), seal)
    expect(claim(later.protectedBytes, 'capsule_decision_id')).toBe('first')
  })

  it('keeps the original subject on an outcome, and the own one otherwise', () => {
    const own = signCapsule(sampleCapsule({ operator: 'a:b' }), seal)
    expect(claim(own.protectedBytes, 2)).toBe(
      'urn:agent-action-capsule:a%3Ab:01890a5d-ac96-774b-bcce-b302099a8057',
    )
    const outcome = signCapsule(sampleCapsule(), {
      ...seal,
      statement: 'outcome',
      sub: 'urn:agent-action-capsule:acme:first',
    })
    expect(claim(outcome.protectedBytes, 2)).toBe('urn:agent-action-capsule:acme:first')
    expect(claim(outcome.protectedBytes, 'capsule_statement_type')).toBe('outcome')
  })

  it('refuses to seal what no verifier would read', () => {
    const huge = sampleCapsule({ developer: 'x'.repeat(1024 * 1024) })
    expect(() => signCapsule(huge, seal)).toThrow(RangeError)
    expect(() => signCapsule(sampleCapsule({ developer: 'a\ud800' }), seal)).toThrow(TypeError)
  })

  it('gives the envelope that another CBOR writer gives', () => {
    const { payload, protectedBytes, signature } = signCapsule(sampleCapsule(), seal)
    const bytes = new TextEncoder().encode(payload)
    const theirs = cborgEncode([protectedBytes, new Map(), bytes, new Uint8Array(signature)])
    expect(Buffer.from(toCose(bytes, protectedBytes, signature))).toEqual(
      Buffer.concat([Buffer.from([0xd2]), theirs]),
    )
  })
})
