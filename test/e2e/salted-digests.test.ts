import { createHash } from 'node:crypto'
import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { canonicalOf, jsonDigest } from '../../src/core/json/build.js'
import { answering } from '../support/raw-upstream.js'
import { type Rig, refund, rig } from '../support/rig.js'
import { MANIFEST, POLICIES, respond } from '../support/verdict-scenarios.js'
import type { Way } from './verdict-table.js'
import {
  throughFetch,
  throughGovernedProxy,
  throughMiddleware,
  throughProxy,
} from './verdict-ways.js'

/**
 * Where a tool says `digest_salt: tenant`, no digest of its requests or answers can be compared with a guess,
 * whichever mount observed them (DESIGN §5).
 */
const SALTED = MANIFEST.replace('/v1/refunds\n', '/v1/refunds\n    digest_salt: tenant\n')
const BODY = { state: 'done' }
const ANSWER = JSON.stringify(BODY)
const sha256 = (octets: string | Uint8Array): string =>
  createHash('sha256').update(octets).digest('hex')

let at: Rig
let way: Way | null = null
afterEach(async () => {
  await way?.close()
  way = null
  await at.close()
})

describe.each([
  ['the proxy', throughProxy],
  ['governedProxy', throughGovernedProxy],
  ['Express middleware', throughMiddleware],
  ['the gated fetch', throughFetch],
])('through %s', (_, open) => {
  async function effectUnder(manifest: string) {
    at = await rig({ manifest, policies: POLICIES })
    way = await open(at.gate)
    const tool = answering(respond('200 OK', ANSWER))
    await way.behave({ code: 'executed', tool, cut: false })
    const call = refund('5.00')
    const told = await way.ask(call, 'executed')
    expect(told).toMatchObject({ status: 200, problem: null })
    const [line] = await at.capsules()
    const octets = call.body.kind === 'read' ? call.body.bytes : new Uint8Array()
    return { effect: line?.capsule.effect, octets }
  }

  it('request and answer are digested under the tenant’s keys', async () => {
    const { effect, octets } = await effectUnder(SALTED)
    const { tenant } = at.gate.parts
    const answered = tenant.responseOctets()
    answered.update(Buffer.from(ANSWER))
    expect(effect).toMatchObject({
      status: 'confirmed',
      'dev.capsulegate.request_octets': {
        alg: 'hmac-sha-256',
        digest: tenant.requestOctets(octets),
      },
      'dev.capsulegate.response_octets': { alg: 'hmac-sha-256', digest: answered.digest() },
      'dev.capsulegate.response_binding': 'octets-salted',
    })
    // What the request digest is of, but for its salt: all of it stands in the manifest or the capsule.
    const { content_type, ...body } = effect?.['dev.capsulegate.request_octets'] ?? {}
    const told = {
      body: { ...body },
      content_type: content_type ?? null,
      headers: { 'content-type': ['application/json'] },
      method: 'POST',
      target: '/v1/refunds',
      tool: 'create_refund',
      upstream: 'default',
    }
    const salt = tenant.requestSalt(canonicalOf(told))
    expect(effect?.request_digest).toBe(jsonDigest({ ...told, salt }, nodeCrypto))
    const guesses = [
      sha256(octets),
      sha256(ANSWER),
      jsonDigest(BODY, nodeCrypto),
      jsonDigest(told, nodeCrypto),
    ]
    const journal = JSON.stringify(await at.lines())
    expect(guesses.filter((guess) => journal.includes(guess))).toEqual([])
  })

  it('without that word they are what anybody can compute', async () => {
    const { effect, octets } = await effectUnder(MANIFEST)
    expect(effect).toMatchObject({
      response_digest: jsonDigest(BODY, nodeCrypto),
      'dev.capsulegate.request_octets': { alg: 'sha-256', digest: sha256(octets) },
      'dev.capsulegate.response_octets': { alg: 'sha-256', digest: sha256(ANSWER) },
    })
  })
})
