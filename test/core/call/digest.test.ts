import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { olderForms } from '../../../src/app/tenant/older.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { fromUtf8 } from '../../../src/core/bytes/text.js'
import { describeCall } from '../../../src/core/call/describe.js'
import { digestRequest, olderDigests } from '../../../src/core/call/digest.js'
import { capturedRequest, freeze } from '../../../src/gate/evidence/frozen.js'
import type { EvidencePart } from '../../../src/ports/evidence.js'
import { TENANT } from '../../support/tenant.js'
import { AGENT, JWT_AGENT, SAMPLES, TENANT_SALT } from './samples.js'

/** Computed from fixed calls by the code of 0.1: digests and documents out there must not change. */
const GOLDEN: { readonly [name: string]: { readonly [member: string]: unknown } } = JSON.parse(
  readFileSync(join(import.meta.dirname, 'golden.json'), 'utf8'),
)
/** Digests of salted tools have keys of their own since; 0.1 had the tenant's secret in them, and they are found by that. */
const using = { crypto: nodeCrypto, tenant: { ...TENANT, older: olderForms(TENANT_SALT) } }

const told = (parts: readonly EvidencePart[]) =>
  parts.map(({ digest, kind, name, bytes = new Uint8Array() }) => {
    expect(hex(nodeCrypto.sha256(bytes))).toBe(digest)
    const text = bytes.length > 2000 ? null : fromUtf8(bytes)
    return { kind, name: name ?? null, digest, text }
  })

describe('byte for byte what 0.1 wrote', () => {
  it('has an expectation for every sample', () => {
    expect(Object.keys(SAMPLES)).toEqual(Object.keys(GOLDEN))
  })

  it.each(Object.entries(SAMPLES))('%s', (name, { call, rule }) => {
    const now = digestRequest(call, rule, using)
    const older = olderDigests({ call, rule, requestOctets: now.requestOctets }, using)
    const salted = rule.digest_salt === 'tenant'
    const { requestDigest, requestOctets } = (salted ? older[0] : now) ?? now
    const frozen = (agent: typeof AGENT | typeof JWT_AGENT) =>
      told(freeze({ call, rule, agent, intent: null }, using))
    expect({
      request_digest: requestDigest,
      octets: requestOctets,
      legacy_digest: older.at(-1)?.requestDigest,
      frozen: frozen(AGENT),
      frozen_jwt: frozen(JWT_AGENT).slice(0, 1),
      captured: told(capturedRequest(call, using)),
      shown: describeCall({ call, rule, args: new Map(), requestOctets }),
    }).toEqual(GOLDEN[name])
  })
})
