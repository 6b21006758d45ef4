import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { nobleCrypto } from '../../../src/core/crypto/noble.js'
import {
  type Class1Result,
  verifyCapsule,
  verifyDisclosure,
  verifyLedger,
} from '../../../src/verify.js'
import { missingVectors, needs, VECTORS } from '../../support/needs.js'

/** The public vectors, where they lie beside the repository; conformance is what their README says. */
const ROOT = join(VECTORS, 'aac')
const CLASS1 = join(ROOT, 'class1')
const DISCLOSURE = join(ROOT, 'disclosure-envelope')

type Expected = {
  ok: boolean
  findings: { check: number | null; severity: string }[]
  derived: Record<string, string>
  capsule_id_recomputed: string | null
}

const cases = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder, { withFileTypes: true })
        .filter((e) => e.isDirectory())
        .map((e) => e.name)
    : []
const load = (folder: string, name: string) => ({
  input: readFileSync(join(folder, name, 'input.json'), 'utf8'),
  expected: JSON.parse(readFileSync(join(folder, name, 'expected.json'), 'utf8')),
})

/** Draft -03 additions that a verifier of -01 states differently: no rung, and a closed approver enum. */
function asDraft01(name: string, expected: Expected): Expected {
  const { cross_party_rung: _rung, ...derived } = expected.derived
  if (name === 'pos-disposition-approver-counterparty')
    return { ...expected, derived, ok: false, findings: [{ check: 1, severity: 'error' }] }
  const crossParty = name.includes('cross-party')
  return { ...expected, derived, findings: crossParty ? [] : expected.findings }
}

const said = (result: Class1Result) => ({
  ok: result.ok,
  findings: result.findings.map(({ check, severity }) => ({ check, severity })),
  derived: result.derived,
  capsule_id_recomputed: result.capsule_id_recomputed,
})
const wanted = (expected: Expected) => ({
  ok: expected.ok,
  findings: expected.findings.map(({ check, severity }) => ({ check, severity })),
  derived: expected.derived,
  capsule_id_recomputed: expected.capsule_id_recomputed,
})

for (const crypto of [nodeCrypto, nobleCrypto]) {
  const options = { profile: 'compat', crypto } as const
  let run = 0
  needs(missingVectors()).describe(`public vectors, ${crypto.name}`, () => {
    for (const name of cases(CLASS1)) {
      it(`class1 ${name}`, () => {
        const { input, expected } = load(CLASS1, name)
        if (expected.kind === 'store') {
          const { results } = verifyLedger(input, options)
          expect(results.map(said)).toEqual(
            expected.results.map((one: Expected) => wanted(asDraft01(name, one))),
          )
        } else {
          expect(said(verifyCapsule(input, options))).toEqual(wanted(asDraft01(name, expected)))
        }
        run++
      })
    }
    for (const name of cases(DISCLOSURE)) {
      it(`disclosure ${name}`, () => {
        const { input, expected } = load(DISCLOSURE, name)
        const result = verifyDisclosure(input, options)
        expect(said(result.capsule)).toEqual(wanted(expected.capsule))
        expect(result).toMatchObject({
          ok: expected.ok,
          disclosures_checked: expected.disclosures_checked,
          disclosures_matched: expected.disclosures_matched,
          disclosure_findings: expected.disclosure_findings,
        })
        run++
      })
    }
    it('says how many ran', () => {
      process.stdout.write(`vectors: ${run} run\n`)
      expect(run).toBeGreaterThan(0)
    })
  })
}
