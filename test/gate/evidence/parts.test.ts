import { afterAll, beforeAll, expect, it } from '@jest/globals'
import { jsonDigest } from '../../../src/core/json/build.js'
import type { Parts } from '../../../src/gate/context.js'
import { bytesPart, jsonPart, reasonPart, saltedPart } from '../../../src/gate/evidence/parts.js'
import { PAYMENTS } from '../../support/manifests.js'
import { type Rig, rig } from '../../support/rig.js'

let at: Rig
let other: Rig
let parts: Parts
beforeAll(async () => {
  at = await rig({ manifest: PAYMENTS })
  other = await rig({ manifest: PAYMENTS })
  parts = at.gate.parts
})
afterAll(async () => {
  await at.close()
  await other.close()
})

const REASON = { code: 'policy_denied', policy_ids: ['p'] }

it('equal reasons of one tenant have equal digests, those of another tenant do not', () => {
  const one = reasonPart('policy_denied', REASON, parts)
  expect(reasonPart('policy_denied', { policy_ids: ['p'], code: 'policy_denied' }, parts)).toEqual({
    ...one,
    value: expect.objectContaining(REASON),
  })
  expect(reasonPart('policy_denied', REASON, other.gate.parts).digest).not.toBe(one.digest)
  expect(reasonPart('policy_denied', { ...REASON, observed: 1 }, parts).digest).not.toBe(one.digest)
})

it('equal values under a random salt never do', () => {
  const [one, two] = [
    saltedPart('vote', 'n', { a: 1 }, parts),
    saltedPart('vote', 'n', { a: 1 }, parts),
  ]
  expect(one.digest).not.toBe(two.digest)
  expect(Object(one.value).salt).toMatch(/^[0-9a-f]{32}$/)
})

it('the digest is that of the value, and the store takes no part with another', async () => {
  const part = jsonPart('vote', 'n', { b: [1], a: 'x' }, parts)
  expect(part.digest).toBe(jsonDigest({ a: 'x', b: [1] }, parts.crypto))
  const record = (digest: string) => ({
    actionId: parts.ids.actionId(),
    operator: 'acme',
    subject: null,
    at: parts.journal.timestamp(),
    parts: [{ ...bytesPart('frozen', 'head', Buffer.from('abc'), parts), digest }],
  })
  const { digest } = bytesPart('frozen', 'head', Buffer.from('abc'), parts)
  await parts.evidence.put(record(digest))
  await expect(parts.evidence.put(record('0'.repeat(64)))).rejects.toThrow()
})
