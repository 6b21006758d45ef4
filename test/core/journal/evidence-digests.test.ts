import { describe, expect, it } from '@jest/globals'
import { createErasures } from '../../../src/core/journal/erasures.js'
import { documentDigestsOf, evidenceDigestsOf } from '../../../src/core/journal/evidence-digests.js'
import { LINES, type Line, type LineType, readLine } from '../../../src/core/journal/vocabulary.js'
import { capsuleWith, membersOf, SMALLEST } from '../../support/lines.js'

type Loose = { readonly [name: string]: unknown }
const D = (n: number): string => String(n).repeat(64)
const TIME = '2026-03-01T12:00:00.000Z'

function lineOf(type: LineType, members: Loose, seq = 1): Line {
  const envelope = { v: 1, origin: 'o', seq, prev: D(0), at: TIME, type } as const
  const line = readLine({ ...envelope, ...membersOf(type, members) })
  if (line === null) throw new Error(type)
  return line
}
const digests = (type: LineType, members: Loose): readonly string[] =>
  evidenceDigestsOf(lineOf(type, members)).map(({ member, digest }) => `${member} ${digest[0]}`)

describe('which digests of a line must have evidence', () => {
  const octets = (digest: string) => ({ alg: 'sha-256', digest, length: 1 })
  const capsule = capsuleWith({
    effect: {
      type: 't',
      status: 'confirmed',
      irreversibility_class: 'two_way',
      request_digest: D(7),
      response_digest: D(8),
      'dev.capsulegate.request_octets': octets(D(5)),
      'dev.capsulegate.response_octets': octets(D(6)),
    },
    disposition: { reason_digest: D(3) },
    constraints: [
      { id: 'a', result: 'pass', severity: 'low', blocking: false, evidence_digest: D(1) },
      { id: 'b', result: 'n/a', severity: 'low', blocking: false },
      { id: 'c', result: 'fail', severity: 'low', blocking: false, evidence_digest: D(2) },
    ],
  })
  const members = { ...SMALLEST.CAPSULE, capsule }
  const judged = [
    'capsule.constraints a 1',
    'capsule.constraints c 2',
    'capsule.disposition.reason_digest 3',
  ]

  it('of a capsule: constraints and reason, never request_digest or response_digest', () => {
    expect(digests('CAPSULE', members)).toEqual(judged)
  })

  it('of a capsule whose octets were kept: those too', () => {
    const request = 'capsule.effect.dev.capsulegate.request_octets.digest 5'
    const response = 'capsule.effect.dev.capsulegate.response_octets.digest 6'
    expect(digests('CAPSULE', { ...members, captured: ['request'] })).toEqual([...judged, request])
    const both = { ...members, captured: ['request', 'response'] }
    expect(digests('CAPSULE', both)).toEqual([...judged, request, response])
    // Nothing was sent: there is no effect to have octets.
    expect(digests('CAPSULE', { ...SMALLEST.CAPSULE, captured: ['request'] })).toEqual([])
  })

  it('of approvals, votes, lifted refusals and standing grants', () => {
    const one = { document_digest: D(4) }
    expect(digests('APPROVAL_OPENED', { ...SMALLEST.APPROVAL_OPENED, ...one })).toEqual([
      'document_digest 4',
    ])
    const vote = { ...SMALLEST.APPROVAL_VOTED, ...one, evidence_digest: D(5) }
    expect(digests('APPROVAL_VOTED', vote)).toEqual(['document_digest 4', 'evidence_digest 5'])
    const lifted = { ...SMALLEST.REFUSAL_LIFTED, evidence_digest: D(6) }
    expect(digests('REFUSAL_LIFTED', lifted)).toEqual(['evidence_digest 6'])
    expect(digests('GRANT_ISSUED', SMALLEST.GRANT_ISSUED)).toEqual([])
    const standing = {
      ...{ grant: 'g', standing: true, agent: 'a', tool: 't', bounds: {}, expires_at: TIME },
      ...{ uses: 1, voter: D(1), evidence_digest: D(7) },
    }
    expect(digests('GRANT_ISSUED', standing)).toEqual(['evidence_digest 7'])
  })

  it('is declared for every type of line', () => {
    for (const type of Object.keys(LINES) as LineType[]) {
      expect(() => evidenceDigestsOf(lineOf(type, SMALLEST[type]))).not.toThrow()
    }
  })
})

describe('why a key is gone', () => {
  const subject = { subject_tag: D(1), by: 'ops' }
  const erased = (seq: number, more: object) =>
    lineOf('EVIDENCE_ERASED', { ...subject, records: 2, ...more }, seq)

  it('is told by the line that names it, and by no other', () => {
    const erasures = createErasures()
    erasures.add(erased(4, { key: 'aa' }))
    expect(erasures.of('aa')).toEqual({ seq: 4, at: TIME, records: 2, names: null })
    expect(erasures.of('bb')).toBeNull()
  })

  it('is told by the order to erase, where a stop came before it was told done', () => {
    const erasures = createErasures()
    erasures.add(lineOf('EVIDENCE_ERASING', { ...subject, key: 'aa' }, 3))
    expect(erasures.of('aa')).toEqual({ seq: 3, at: TIME, records: null, names: null })
    erasures.add(erased(4, { key: 'aa' }))
    expect(erasures.of('aa')?.seq).toBe(4)
  })

  it('is told by a line of 0.1, which names no key, unless that line darkened nothing', () => {
    const erasures = createErasures()
    erasures.add(lineOf('EVIDENCE_ERASING', subject, 1))
    erasures.add(erased(2, { records: 0, names: null }))
    expect(erasures.of('aa')).toBeNull()
    erasures.add(erased(3, {}))
    expect(erasures.of('aa')?.seq).toBe(3)
  })
})

describe('which digests of a line must have a public document', () => {
  const documents = (type: LineType, members: Loose): readonly string[] =>
    documentDigestsOf(lineOf(type, members)).map(({ member, digest }) => `${member} ${digest[0]}`)

  it('are those of policies, manifests and definitions that it makes count', () => {
    const judges = { policy_digest: D(1), manifest_digests: [D(2), D(3)] }
    expect(documents('CONFIG_CHANGED', judges)).toEqual([
      'policy_digest 1',
      'manifest_digests 2',
      'manifest_digests 3',
    ])
    const tools = [
      { tool: 'read', definition: D(4) },
      { tool: 'write', definition: D(5) },
    ]
    expect(documents('TOOLS_PINNED', { tools })).toEqual(['tools read 4', 'tools write 5'])
    expect(documents('TOOL_CHANGED', { pinned: D(4), seen: D(6) })).toEqual(['seen 6'])
    expect(documents('SESSION_AUDITED', { audit_digest: D(7) })).toEqual(['audit_digest 7'])
    const others = (Object.keys(LINES) as LineType[]).filter(
      (type) =>
        !['CONFIG_CHANGED', 'TOOLS_PINNED', 'TOOL_CHANGED', 'SESSION_AUDITED'].includes(type),
    )
    for (const type of others) expect([type, documents(type, {})]).toEqual([type, []])
  })
})
