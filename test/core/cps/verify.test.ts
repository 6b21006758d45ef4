import { describe, expect, it } from '@jest/globals'
import { ml_dsa65 } from '@noble/post-quantum/ml-dsa.js'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { sealText } from '../../../src/core/cps/seal.js'
import { sealCps, verifyCps, verifyCpsChain } from '../../../src/cps.js'
import { AT, canonicalOf, chainOf, parts, signer } from './made.js'

const ours = signer()
const other = signer()
const keys = [{ publicKey: ours.publicKey }]
const options = { keys, crypto: nodeCrypto } as const
const [first] = chainOf(1, ours)
if (first === undefined) throw new Error('no capsule')
const { canonical, ...sealMembers } = first
const capsule = { ...JSON.parse(canonical), ...sealMembers }
/** As CPS writes it: `JSON.stringify` would make `0` of `0.0`. */
const text = (more: object = {}): string => {
  const { confidence, ...rest } = capsule.reasoning
  return JSON.stringify({ ...capsule, reasoning: { ...rest, confidence: '@' }, ...more }).replace(
    '"@"',
    '0.0',
  )
}
const codeOf = (json: string, more = {}): unknown => {
  const result = verifyCps(json, { ...options, ...more })
  return 'findings' in result
    ? (result.code ??
        (result.ok ? 'ok' : result.findings.map(({ code, field }) => `${code} ${field}`)))
    : result.code
}

describe('a sealed capsule', () => {
  it('verifies by both engines, as a capsule and as an entry of a bundle', () => {
    expect(codeOf(text())).toBe('ok')
    expect(codeOf(text(), { crypto: undefined })).toBe('ok')
    expect(codeOf(JSON.stringify(first))).toBe('ok')
    expect(verifyCps(text(), options)).toMatchObject({ public_key: ours.publicKey })
  })

  it('is what was sealed, byte for byte', () => {
    const sealed = sealCps(canonical, ours, AT, { crypto: nodeCrypto })
    if (!sealed.ok) throw new Error(sealed.code)
    expect(sealed.seal).toEqual(first)
    expect(codeOf(sealed.json)).toBe('ok')
  })

  // What the references let pass: notes on Capsule Protocol 1.0, P1 to P7 and T1 to T3.
  it.each([
    [
      'P1 a member put into a section',
      { context: { ...capsule.context, more: 1 } },
      'hash_mismatch',
    ],
    ['P1 a member put beside the sections', { more: 1 }, 'hash_mismatch'],
    [
      'P3 a time in another spelling',
      { trigger: { ...capsule.trigger, timestamp: AT } },
      'hash_mismatch',
    ],
    [
      'P3 white space in the signature',
      { signature: `${first.signature.slice(0, 10)} ${first.signature.slice(10)}` },
      'malformed_signature',
    ],
    ['T3 a hash in upper case', { hash: first.hash.toUpperCase() }, 'malformed_hash'],
    ['no hash', { hash: undefined }, 'missing_hash'],
    ['no signature', { signature: '' }, 'missing_signature'],
    ['another hash', { hash: 'ab'.repeat(32) }, 'hash_mismatch'],
    ['another signature', { signature: 'ab'.repeat(64) }, 'invalid_signature'],
    ['another signer', { signed_by: other.publicKey.slice(0, 16) }, 'key_unknown'],
  ])('%s', (_, more, code) => {
    expect(codeOf(text(more))).toBe(code)
  })

  it('P2 has the options that were sealed', () => {
    const of = parts(0, null, {
      reasoning: { options: [{ id: 'a', description: 'pay' }], selected_option: 'pay' },
    })
    const sealed = sealText(canonicalOf(of), ours, AT, nodeCrypto)
    const changed = sealed.canonical.replace(
      '"options_considered":["pay"]',
      '"options_considered":["wait"]',
    )
    expect(changed).not.toBe(sealed.canonical)
    expect(codeOf(JSON.stringify(sealed))).toBe('ok')
    expect(codeOf(JSON.stringify({ ...sealed, canonical: changed }))).toBe('hash_mismatch')
  })

  it('P4 holds no number that is none', () => {
    for (const number of ['NaN', 'Infinity', '1e400']) {
      expect(verifyCps(text().replace('0.0', number), options)).toMatchObject({ ok: false })
      expect(sealCps(`{"a":${number}}`, ours, AT)).toMatchObject({ ok: false })
    }
  })

  it('P5, P6 is signed by the key it names: keys of equal prefix are told apart, or not guessed', () => {
    const both = [{ publicKey: ours.publicKey }, { publicKey: other.publicKey }]
    expect(codeOf(text(), { keys: both })).toBe('ok')
    const short = `qp_key_${ours.publicKey.slice(0, 4)}`
    expect(codeOf(text({ signed_by: short }), { keys: both })).toBe('ok')
    const twin = { publicKey: `${ours.publicKey.slice(0, 4)}${other.publicKey.slice(4)}` }
    expect(codeOf(text({ signed_by: short }), { keys: [...both, twin] })).toBe('key_ambiguous')
  })

  it.each([
    ['sequence', true],
    ['id', `{${capsule.id}}`],
    ['id', capsule.id.replaceAll('-', '')],
    ['domain', 7],
    ['spec_version', '2.0'],
  ])('P7 has no %s like %j', (name, value) => {
    expect(codeOf(text({ [name]: value }), { level: 'structural' })).toEqual([
      expect.stringContaining(name),
    ])
  })

  it.each([
    ['outcome', { status: 'done' }],
    ['authority', { type: 'root' }],
    ['trigger', { type: 'cron' }],
    ['trigger', { timestamp: '20261119T120000Z' }],
    ['execution', { tool_calls: ['refund'] }],
    ['outcome', { more: 1 }],
  ])('P7, T2 has no %s with %j under strict, and is told of it under compat', (section, more) => {
    const changed = text({ [section]: { ...capsule[section], ...more } })
    expect(verifyCps(changed, { ...options, level: 'structural' }).ok).toBe(false)
    const open = verifyCps(changed, { ...options, level: 'structural', profile: 'compat' })
    expect(open).toMatchObject({ ok: true, findings: [{ severity: 'warning' }] })
  })

  it('T1 hashes numbers, names and halves of pairs as Python does', () => {
    expect(codeOf(text().replace('0.0', '0'), { level: 'structural' })).toEqual([
      'invalid_value reasoning.confidence',
    ])
    expect(verifyCps('{"a":"\\ud800"}', options)).toEqual({ ok: false, code: 'lone_surrogate' })
  })

  it('T2 falls back to the active key under compat alone, and says so', () => {
    const away = { keys: [], fallback: { publicKey: ours.publicKey } }
    expect(codeOf(text(), away)).toBe('key_unknown')
    const fell = verifyCps(text(), { ...options, ...away, profile: 'compat' })
    expect(fell).toMatchObject({ ok: true, not_checked: expect.arrayContaining(['signed_by']) })
  })
})

describe('a post-quantum signature', () => {
  const pair = ml_dsa65.keygen(new Uint8Array(32).fill(7))
  const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
  const pq = { keys: [{ publicKey: ours.publicKey, pqPublicKey: hex(pair.publicKey) }] }
  const signature_pq = hex(ml_dsa65.sign(Buffer.from(first.hash), pair.secretKey))

  it('T3 is verified where there is one, and demanded where it is required', () => {
    expect(codeOf(text({ signature_pq }), pq)).toBe('ok')
    expect(codeOf(text({ signature_pq }))).toBe('pq_key_unknown')
    expect(codeOf(text({ signature_pq: `00${signature_pq.slice(2)}` }), pq)).toBe(
      'pq_signature_invalid',
    )
    expect(codeOf(text(), { ...pq, requirePq: true })).toBe('pq_signature_missing')
  })
})

describe('a chain', () => {
  const chain = chainOf(5, ours)
  const verify = (of: readonly object[], more = {}) =>
    verifyCpsChain(JSON.stringify(of), { ...options, ...more })

  it('is whole, at both levels', () => {
    for (const level of ['structural', 'cryptographic'] as const) {
      const result = verify(chain, { level })
      expect(result).toMatchObject({ ok: true, length: 5, head: chain[4]?.hash, findings: [] })
    }
    expect(verify([])).toMatchObject({ ok: true, length: 0, head: null })
  })

  it.each([
    [
      'the first is missing',
      chain.slice(1),
      [
        ['sequence', 0],
        ['link', 0],
      ],
    ],
    [
      'one is missing',
      [...chain.slice(0, 2), ...chain.slice(3)],
      [
        ['sequence', 2],
        ['link', 2],
      ],
    ],
    [
      'two changed places',
      [chain[0], chain[2], chain[1]],
      [
        ['sequence', 1],
        ['link', 1],
      ],
    ],
    [
      'one stands twice',
      [chain[0], chain[1], chain[1]],
      [
        ['sequence', 2],
        ['link', 2],
      ],
    ],
  ])('is told by code and index where %s', (_, of, found) => {
    const result = verify(of as object[])
    if (!('findings' in result)) throw new Error(result.code)
    expect(result.ok).toBe(false)
    expect(result.findings.slice(0, 2).map(({ code, index }) => [code, index])).toEqual(found)
  })

  it('is red where one was changed and hashed again, at the level that looks', () => {
    const changed = chain.map((each, index) =>
      index === 2 ? { ...each, canonical: each.canonical.replace('step 2', 'step X') } : each,
    )
    expect(verify(changed)).toMatchObject({
      ok: false,
      findings: [{ code: 'hash_mismatch', index: 2 }],
    })
    expect(verify(changed, { level: 'structural' })).toMatchObject({
      ok: true,
      not_checked: expect.arrayContaining(['content_hash', 'signature']),
    })
  })
})
