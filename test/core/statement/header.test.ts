import { describe, expect, it } from '@jest/globals'
import { decode as cborgDecode } from 'cborg'
import fc from 'fast-check'
import type { Cbor, CborKey, CborMap } from '../../../src/core/bytes/cbor.js'
import { encodeHeader, readHeader, subjectUrn } from '../../../src/core/statement/header.js'

const input = {
  alg: -8,
  kid: new Uint8Array(32).fill(7),
  statement: 'agent_action',
  iss: 'support-bot',
  sub: 'urn:agent-action-capsule:acme:a1',
  actionType: 'decide',
  decisionId: 'a1',
} as const

describe('encodeHeader', () => {
  it('writes labels 1, 3, 4, 15 and the claims in deterministic order, and nothing else', () => {
    const header = cborgDecode(encodeHeader(input), { useMaps: true }) as CborMap
    expect([...header.keys()]).toEqual([1, 3, 4, 15])
    expect([...(header.get(15) as CborMap).keys()]).toEqual([
      1,
      2,
      'capsule_action_type',
      'capsule_decision_id',
      'capsule_statement_type',
    ])
  })

  it('is read back without a finding', () => {
    for (const statement of ['agent_action', 'outcome'] as const) {
      const header = cborgDecode(encodeHeader({ ...input, statement }), {
        useMaps: true,
      }) as CborMap
      expect(readHeader(header)).toEqual({
        header: {
          contentType: `application/agent-action-capsule${statement === 'outcome' ? '-outcome' : ''}+json`,
          iss: 'support-bot',
          sub: 'urn:agent-action-capsule:acme:a1',
          statement,
          actionType: 'decide',
          decisionId: 'a1',
        },
        findings: [],
      })
    }
  })
})

describe('readHeader', () => {
  const claims = (changes: [CborKey, Cbor | undefined][]): CborMap => {
    const all = new Map<CborKey, Cbor>([
      [1, 'bot'],
      [2, 'urn:agent-action-capsule:o:a'],
      ['capsule_statement_type', 'agent_action'],
    ])
    for (const [key, value] of changes) {
      if (value === undefined) all.delete(key)
      else all.set(key, value)
    }
    return all
  }
  const codes = (header: [CborKey, Cbor][]): string[] =>
    readHeader(new Map(header)).findings.map((f) => `${f.severity} ${f.code}`)
  const TYPE: [CborKey, Cbor] = [3, 'application/agent-action-capsule+json']

  it.each<[string, [CborKey, Cbor][], string[]]>([
    ['the required members only', [TYPE, [15, claims([])]], []],
    ['no issuer', [TYPE, [15, claims([[1, undefined]])]], ['error iss_missing']],
    ['an empty issuer', [TYPE, [15, claims([[1, '']])]], ['error iss_missing']],
    ['an issuer of bytes', [TYPE, [15, claims([[1, new Uint8Array(3)]])]], ['error iss_missing']],
    ['no subject', [TYPE, [15, claims([[2, undefined]])]], ['error sub_missing']],
    [
      'no statement type',
      [TYPE, [15, claims([['capsule_statement_type', undefined]])]],
      ['error statement_type'],
    ],
    [
      'a reserved statement type',
      [TYPE, [15, claims([['capsule_statement_type', 'x']])]],
      ['error statement_type'],
    ],
    ['no content type', [[15, claims([])]], ['error content_type']],
    [
      'a numeric content type',
      [
        [3, 50],
        [15, claims([])],
      ],
      ['error content_type'],
    ],
    [
      'another content type',
      [
        [3, 'application/json'],
        [15, claims([])],
      ],
      ['error content_type_mismatch'],
    ],
    [
      'an outcome under the action media type',
      [TYPE, [15, claims([['capsule_statement_type', 'outcome']])]],
      ['error content_type_mismatch'],
    ],
    [
      'an action type that is no text',
      [TYPE, [15, claims([['capsule_action_type', 1]])]],
      ['error action_type'],
    ],
    [
      'a decision id that is no text',
      [TYPE, [15, claims([['capsule_decision_id', null]])]],
      ['error decision_id'],
    ],
    [
      'a stranger in the closed set',
      [TYPE, [15, claims([['capsule_mood', 'x']])]],
      ['info claim_unknown'],
    ],
    [
      'foreign claims of other names',
      [
        TYPE,
        [
          15,
          claims([
            ['mood', 'x'],
            [6, 1],
          ]),
        ],
      ],
      [],
    ],
    [
      'claims under label 13 (kcwt)',
      [TYPE, [13, claims([])]],
      ['error claims_missing', 'error statement_type', 'error iss_missing', 'error sub_missing'],
    ],
    [
      'claims that are no map',
      [TYPE, [15, 'x']],
      ['error claims_missing', 'error statement_type', 'error iss_missing', 'error sub_missing'],
    ],
  ])('on %s', (_, header, expected) => {
    expect(codes(header)).toEqual(expected)
  })
})

describe('subjectUrn', () => {
  it.each([
    ['acme', 'a-1', 'urn:agent-action-capsule:acme:a-1'],
    ['acme:eu', 'a:1', 'urn:agent-action-capsule:acme%3Aeu:a:1'],
    ['a b', 'x/y', 'urn:agent-action-capsule:a%20b:x/y'],
    ['50%', '%3A', 'urn:agent-action-capsule:50%25:%253A'],
    ['ops@acme', 'é?#', 'urn:agent-action-capsule:ops@acme:%C3%A9%3F%23'],
  ])('%s and %s → %s', (operator, action, expected) => {
    expect(subjectUrn(operator, action)).toBe(expected)
  })

  it('never gives two pairs one subject, and stays within URN characters', () => {
    const part = fc.oneof(
      fc.string({ unit: fc.constantFrom('a', ':', '%', '3', 'A', '/') }),
      fc.string({ unit: 'grapheme' }),
    )
    fc.assert(
      fc.property(part, part, part, part, (a, b, c, d) => {
        expect(subjectUrn(a, b)).toMatch(
          /^urn:agent-action-capsule:[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*$/,
        )
        if (a !== c || b !== d) expect(subjectUrn(a, b)).not.toBe(subjectUrn(c, d))
      }),
      { numRuns: 2000 },
    )
  })
})
