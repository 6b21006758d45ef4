import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { fromHex } from '../../../src/core/bytes/hex.js'
import { payloadOf } from '../../../src/core/capsule/build.js'
import { nobleCrypto } from '../../../src/core/crypto/noble.js'
import { encodeHeader, type HeaderInput, subjectUrn } from '../../../src/core/statement/header.js'
import type { PublicKeyRecord } from '../../../src/core/statement/keys.js'
import { encodeSign1, sigStructure, toCose } from '../../../src/core/statement/sign1.js'
import { verifyCapsule, verifyStatement } from '../../../src/verify.js'
import { outcomeSample, samples } from '../capsule/samples.js'
import { cose, key, seal, signRaw } from './signing.js'

const all = samples().map(({ capsule }) => capsule)
const [first] = all
if (first === undefined) throw new Error('no samples')
const chained = all.find((capsule) => capsule.chain !== undefined) ?? first
const options = { keys: [key], crypto: nodeCrypto }
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

/** Signs whatever header and payload it is given: a producer that lies. */
function lie(payload: string, header: Partial<HeaderInput> = {}): Uint8Array {
  const protectedBytes = encodeHeader({
    alg: -8,
    kid: fromHex(key.kid) ?? new Uint8Array(),
    statement: 'agent_action',
    iss: first?.developer ?? '',
    sub: subjectUrn(first?.operator ?? '', first?.action_id ?? ''),
    actionType: 'decide',
    decisionId: first?.action_id ?? '',
    ...header,
  })
  return toCose(utf8(payload), protectedBytes, signRaw(sigStructure(protectedBytes, utf8(payload))))
}

describe('a genuine statement', () => {
  it('holds for every sample through both engines, and says what is left unchecked', async () => {
    for (const crypto of [nodeCrypto, nobleCrypto])
      for (const capsule of crypto === nodeCrypto ? all : all.slice(0, 2)) {
        const result = await verifyStatement(cose(capsule), { keys: [key], crypto })
        expect(result).toMatchObject({ ok: true, signature: { ok: true }, class1: { ok: true } })
        expect(result.not_checked).toEqual(
          expect.arrayContaining(['receipt', 'class2', 'issuer_binding', 'time']),
        )
        expect(result.not_checked).not.toContain('signature')
        expect(result.not_checked).not.toContain('chain')
      }
  })

  it('is checked against the store when one is given', async () => {
    const parent = chained.chain?.parent_capsule_id ?? ''
    const known = await verifyStatement(cose(chained), { ...options, store: new Set([parent]) })
    const unknown = await verifyStatement(cose(chained), { ...options, store: new Set<string>() })
    expect([known.ok, unknown.ok]).toEqual([true, false])
  })

  it('keeps its verdict when anyone adds to the unprotected header', async () => {
    const { payload, protectedBytes, signature } = seal(first)
    const unprotected = new Map<number, Uint8Array[]>([[394, [new Uint8Array([1])]]])
    const bytes = encodeSign1({ protectedBytes, unprotected, payload: utf8(payload), signature })
    expect((await verifyStatement(bytes, options)).ok).toBe(true)
  })
})

describe('an outcome', () => {
  const outcome = outcomeSample(first)
  it("holds under the original's sub, and leaves that sub to the ledger", async () => {
    const result = await verifyStatement(cose(outcome, first), options)
    expect(result).toMatchObject({ ok: true, header: { statement: 'outcome' } })
    expect(result.header?.sub).toBe(subjectUrn(first.operator, first.action_id))
    expect(result.not_checked).toContain('outcome_subject')
  })
  it('is refused under the sub of another operator', async () => {
    const result = await verifyStatement(cose(outcome, { ...first, operator: 'other' }), options)
    expect(result.ok).toBe(false)
  })
  it('is refused when it is signed as an action', async () => {
    const result = await verifyStatement(cose(outcome), options)
    expect(result.findings.map(({ code }) => code)).toContain('outcome_as_action')
  })
})

describe('the header against the payload', () => {
  const payload = payloadOf(first)
  const cases: Record<string, Partial<HeaderInput>> = {
    'iss of someone else': { iss: 'other-bot@1' },
    'sub of another action': { sub: subjectUrn(first.operator, 'another') },
    'sub of another operator': { sub: subjectUrn('other', first.action_id) },
    'another action type': { actionType: 'fyi' },
    'a statement type of the other kind': { statement: 'outcome', sub: 'urn:x' },
  }
  for (const [name, header] of Object.entries(cases))
    it(`${name}: refused although the signature holds`, async () => {
      const result = await verifyStatement(lie(payload, header), options)
      expect(result).toMatchObject({ ok: false, signature: { ok: true }, class1: { ok: true } })
    })

  it('another decision id than the payload names: refused', async () => {
    const human = all.find((capsule) => capsule.disposition.human_disposed) ?? first
    const header = { sub: subjectUrn(human.operator, human.action_id), decisionId: 'another' }
    expect((await verifyStatement(lie(payloadOf(human), header), options)).ok).toBe(false)
  })

  it('takes the raw spelling of a subject from makers who do not escape', async () => {
    const sub = `urn:agent-action-capsule:${first.operator}:${first.action_id}`
    expect((await verifyStatement(lie(payload, { sub }), options)).ok).toBe(true)
  })
})

describe('keys', () => {
  const check = async (change: Partial<PublicKeyRecord>) =>
    verifyStatement(cose(first), { ...options, keys: [{ ...key, ...change }] })

  it('a key bound to this issuer closes the issuer binding; to another, refuses', async () => {
    const bound = await check({ issuers: [first.developer] })
    expect(bound.ok).toBe(true)
    expect(bound.not_checked).not.toContain('issuer_binding')
    expect((await check({ issuers: ['someone-else'] })).ok).toBe(false)
  })
  it('an event or log key never verifies a capsule', async () => {
    for (const purpose of ['event', 'log', 'webhook'] as const)
      expect(await check({ purpose })).toMatchObject({
        ok: false,
        signature: { code: 'key_purpose' },
      })
  })
  it('shows no header and no class 1 before the signature holds', async () => {
    const result = await verifyStatement(cose(first), { ...options, keys: [] })
    expect(result).toMatchObject({ ok: false, header: null, class1: null })
    expect(result.not_checked).toEqual(expect.arrayContaining(['header', 'class1']))
  })
  it('warns of a timestamp outside the epoch of the key', async () => {
    const early = await check({ valid_from: '2026-06-13T00:00:00.001Z' })
    const late = await check({ valid_to: '2026-06-12T23:59:59Z' })
    const within = await check({
      valid_from: '2026-06-13T00:00:00Z',
      valid_to: '2026-06-13T00:00:00.5Z',
    })
    const codes = [early, late, within].map(({ findings }) => findings.map(({ code }) => code))
    expect(codes).toEqual([['key_outside_validity'], ['key_outside_validity'], []])
  })
})

describe('any one-byte change', () => {
  const statements = all.map((capsule) => cose(capsule))

  it('of a statement is found', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...statements),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        async (bytes, place, mask) => {
          const changed = Uint8Array.from(bytes)
          const at = place % changed.length
          changed[at] = (changed[at] ?? 0) ^ mask
          expect((await verifyStatement(changed, options)).ok).toBe(false)
        },
      ),
      { numRuns: 3000 },
    )
  })

  it('is found at every single place of one statement', async () => {
    const bytes = cose(chained)
    const missed: number[] = []
    for (let at = 0; at < bytes.length; at++) {
      const changed = Uint8Array.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 0x01
      if ((await verifyStatement(changed, options)).ok) missed.push(at)
    }
    expect(missed).toEqual([])
  })

  it('is found when a byte goes or comes', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...statements),
        fc.nat(),
        fc.option(fc.nat(255), { nil: null }),
        async (bytes, place, insert) => {
          const at = place % bytes.length
          const changed = Uint8Array.from([
            ...bytes.subarray(0, at),
            ...(insert === null ? [] : [insert]),
            ...bytes.subarray(insert === null ? at + 1 : at),
          ])
          expect((await verifyStatement(changed, options)).ok).toBe(false)
        },
      ),
      { numRuns: 1000 },
    )
  })
})

describe('what a bare capsule does not bind', () => {
  const verify = (value: unknown) => verifyCapsule(JSON.stringify(value), { crypto: nodeCrypto })

  it('is every member outside its id: listed in not_checked, found by the statement', async () => {
    const outside: [string, unknown][] = [
      [
        'chain',
        { ...chained, chain: { parent_capsule_id: 'f'.repeat(64), relation: 'supersedes' } },
      ],
      ['empty_members', { ...chained, note: null }],
      ['empty_members', { ...chained, disposition: { ...chained.disposition, extra: [] } }],
      ['empty_members', { ...chained, extra: { deep: { deeper: {} } } }],
    ]
    for (const [named, value] of outside) {
      const result = verify(value)
      expect(result.ok).toBe(true)
      expect(result.not_checked).toContain(named)
      const { protectedBytes, signature } = seal(chained)
      const swapped = toCose(utf8(JSON.stringify(value)), protectedBytes, signature)
      expect((await verifyStatement(swapped, options)).signature.code).toBe('signature_invalid')
    }
  })

  it('and nothing else: any other changed, added or removed member is found', () => {
    type Member = { path: string[]; value: unknown }
    const members = (value: unknown, path: string[] = []): Member[] =>
      typeof value === 'object' && value !== null
        ? [
            ...(path.length === 0 ? [] : [{ path, value }]),
            ...Object.entries(value).flatMap(([name, member]) => members(member, [...path, name])),
          ]
        : [{ path, value }]
    const edit = (
      value: unknown,
      [name, ...rest]: string[],
      change: (old: unknown) => unknown,
    ): unknown => {
      if (name === undefined) return change(value)
      const copy: Record<string, unknown> | unknown[] = Array.isArray(value)
        ? [...value]
        : { ...(value as object) }
      const next = edit((value as Record<string, unknown>)[name], rest, change)
      if (next === undefined && !Array.isArray(copy)) delete copy[name]
      else (copy as Record<string, unknown>)[name] = next
      return copy
    }
    const changes: ((old: unknown) => unknown)[] = [
      () => undefined,
      (old) => (typeof old === 'string' ? `${old}x` : 'x'),
      (old) => (typeof old === 'boolean' ? !old : true),
      (old) => (typeof old === 'number' ? old + 1 : 1),
      (old) => (old !== null && typeof old === 'object' ? { ...old, added: 1 } : { added: 1 }),
    ]
    let tried = 0
    for (const capsule of all)
      for (const { path, value } of members(capsule)) {
        if (path[0] === 'chain') continue
        for (const change of changes) {
          const changed = edit(capsule, path, change)
          if (JSON.stringify(changed) === JSON.stringify(capsule)) continue
          tried++
          expect([path, value, verify(changed).ok]).toEqual([path, value, false])
        }
      }
    expect(tried).toBeGreaterThan(2000)
  })
})
