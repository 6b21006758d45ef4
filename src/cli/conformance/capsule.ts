import { join } from 'node:path'
import { readFileSync, statSync } from '../../adapters/disk/files.js'
import type { Crypto } from '../../core/crypto/crypto.js'
import {
  type Class1Result,
  type DisclosureResult,
  verifyCapsule,
  verifyDisclosure,
  verifyLedger,
} from '../../verify.js'
import { type Case, list } from './conformance.js'

/**
 * The vectors of the agent action capsule project. Their README defines conformance as agreement on
 * ok, check numbers and severities, derived modes and capsule_id; codes and details are ours.
 */
type Expected = Pick<Class1Result, 'ok' | 'capsule_id_recomputed'> & {
  readonly findings: readonly { readonly check: number | null; readonly severity: string }[]
  readonly derived: Readonly<Record<string, string>> | null
}
type DisclosureExpected = Omit<DisclosureResult, 'capsule'> & { readonly capsule: Expected }

/** Vectors of draft -03: a verifier of -01 must say this instead, and no more. */
const CROSS_PARTY: readonly string[] = [
  'pos-cross-party-full-bilateral',
  'pos-cross-party-acknowledged-receipt',
  'pos-cross-party-unilateral-fallback',
  'neg-cross-party-overclaim',
]
const COUNTERPARTY = 'pos-disposition-approver-counterparty'

export function capsuleCases(root: string, crypto: Crypto): Case[] {
  const options = { profile: 'compat', crypto } as const
  const class1 = join(root, 'aac', 'class1')
  const envelopes = join(root, 'aac', 'disclosure-envelope')
  return [
    ...folders(class1).map((name): Case => {
      const { input, expected } = load(join(class1, name))
      const [draft01, note] = asDraft01(name)
      const isLedger = Array.isArray(expected.results)
      const wanted = (isLedger ? expected.results : [expected]) as Expected[]
      const results = isLedger
        ? verifyLedger(input, options).results
        : [verifyCapsule(input, options)]
      return {
        suite: 'aac/class1',
        name,
        expected: String(wanted.map(draft01).map(describe)),
        actual: String(results.map(describe)),
        note,
      }
    }),
    ...folders(envelopes).map((name): Case => {
      const { input, expected } = load(join(envelopes, name))
      const wanted = describeEnvelope(expected as DisclosureExpected)
      const actual = describeEnvelope(verifyDisclosure(input, options))
      return { suite: 'aac/disclosure-envelope', name, expected: wanted, actual, note: null }
    }),
  ]
}

const folders = (path: string): string[] =>
  list(path).filter((name) => statSync(join(path, name)).isDirectory())

function load(folder: string): { input: Uint8Array; expected: { results?: unknown } } {
  const expected: unknown = JSON.parse(readFileSync(join(folder, 'expected.json'), 'utf8'))
  return { input: readFileSync(join(folder, 'input.json')), expected: expected as object }
}

/** The -01 rule set knows no rung, and its approver enum is closed at human and policy. */
function asDraft01(name: string): [(expected: Expected) => Expected, string | null] {
  if (name === COUNTERPARTY) {
    const refused = { ok: false, findings: [{ check: 1, severity: 'error' }] }
    return [(expected) => ({ ...expected, ...refused }), 'draft -03; -01 closes approver']
  }
  if (CROSS_PARTY.includes(name)) {
    const withoutRung = (expected: Expected): Expected => {
      const { cross_party_rung: _, ...derived } = expected.derived ?? {}
      return { ...expected, derived, findings: [] }
    }
    return [withoutRung, 'draft -03; -01 derives no rung']
  }
  return [(expected) => expected, null]
}

const describe = (result: Expected | Class1Result): string => {
  const findings = result.findings.map(({ check, severity }) => `${check ?? '-'}:${severity}`)
  const { effect_mode, attestation_mode, ledger_mode, ...more } = {
    ...(result.derived as Record<string, string> | null),
  }
  const modes = [effect_mode, attestation_mode, ledger_mode, ...Object.values(more)].join('/')
  const id = result.capsule_id_recomputed?.slice(0, 16) ?? 'no id'
  return [result.ok ? 'ok' : 'not ok', ...findings, modes, id].join(' ')
}

const describeEnvelope = (result: DisclosureExpected | DisclosureResult): string =>
  [
    result.ok ? 'ok' : 'not ok',
    `${result.disclosures_matched}/${result.disclosures_checked}`,
    ...result.disclosure_findings.map(({ code, member }) => `${member}:${code}`),
    `capsule ${describe(result.capsule)}`,
  ].join(' ')
