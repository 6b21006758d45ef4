import { afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Recorder } from '../../../src/app/data/open.js'
import { fromBase64url } from '../../../src/core/bytes/base64url.js'
import { fromHex } from '../../../src/core/bytes/hex.js'
import { utf8 } from '../../../src/core/bytes/text.js'
import { type Line, readLine } from '../../../src/core/journal/vocabulary.js'
import { canonicalOf } from '../../../src/core/json/build.js'
import {
  BOOKING,
  BOOKING_POLICIES,
  bookingCall,
  carried,
  mandateIssuer,
  stepsOf,
} from '../../support/intents.js'
import { rawUpstream } from '../../support/raw-upstream.js'
import { type Rig, rig, sending, upstreamTo } from '../../support/rig.js'
import { fine } from '../../support/verdict-scenarios.js'

/** The journal signs the record of a verification where it writes the line, in whatever thread that is. */
let at: Rig | null = null
afterEach(async () => {
  await at?.close()
  at = null
})

describe.each<[string, Recorder]>([
  ['this thread', { in: 'this_thread' }],
  ['the writer thread', { in: 'thread' }],
])('a verification written in %s', (_, recorder) => {
  it('is signed over all its other members, and told as it stands in the file', async () => {
    const issuer = mandateIssuer()
    const { options } = issuer
    at = await rig({
      manifest: BOOKING,
      policies: BOOKING_POLICIES,
      mandateIssuers: options,
      recorder,
    })
    const told: Line[] = []
    at.gate.data.subscribe((line) => told.push(line))
    const server = await rawUpstream(fine)
    const upstream = upstreamTo(server.origin)
    const steps = stepsOf(issuer)
    const intent = carried(steps.standard('ReadBooking'), steps.mandate)
    const made = bookingCall('ReadBooking', steps.booking, intent)
    await at.gate.govern(made, sending(upstream, made))
    await upstream.close()
    await server.close()

    const lines = (await at.lines()).map((raw) => readLine(raw))
    const verified = lines.find((line) => line?.type === 'IDP_COMMITMENT_VERIFIED')
    if (verified?.type !== 'IDP_COMMITMENT_VERIFIED') throw new Error('nothing was verified')
    expect(told).toContainEqual(verified)
    const { kernel_signature, ...signed } = verified.record
    const key = at.gate.data.keys().find(({ kid }) => kid === signed.kid)
    expect(key?.purpose).toBe('event')
    const [publicKey, signature] = [fromHex(key?.public_key ?? ''), fromBase64url(kernel_signature)]
    if (publicKey === null || signature === null) throw new Error('key or signature is no text')
    const holds = (members: object): boolean =>
      nodeCrypto.verifyEd25519(publicKey, utf8(canonicalOf({ ...members })), signature)
    expect(holds(signed)).toBe(true)
    expect(holds({ ...signed, match_result: 'IDP_COMMITMENT_GAP' })).toBe(false)
  })
})
