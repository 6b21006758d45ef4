import { verify } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { signEvent } from '../../../src/core/journal/event.js'
import { readHeadLine, readSignedHead, signHead, signSeal } from '../../../src/core/journal/head.js'
import { formatLine } from '../../../src/core/journal/line.js'
import { readSeal } from '../../../src/core/journal/seal.js'
import { eventKeys, KEYS, type Keys, publicKeyOf } from '../../adapters/journal/harness.js'

const AT = '2026-03-01T12:00:00.000Z'
const HEAD = { upto: 7, hash: 'b'.repeat(64), time: AT, lines: 5, capsules: 2 }
const SEAL = { segment: 3, size: 6, root: 'c'.repeat(64), ...HEAD, counts: { CAPSULE: 2, HEAD: 1 } }
const by = ({ signer }: Keys = KEYS, origin = 'gate-1') => ({
  origin,
  kid: signer.kid('event'),
  sign: (message: Uint8Array) => signer.sign('event', message),
})
const read = (text: string, keys = KEYS.records) => readHeadLine(text, 'gate-1', keys, nodeCrypto)
const signature = JSON.parse(signHead(HEAD, by()).text)

describe('a head line', () => {
  const { text, head } = signHead(HEAD, by())

  it('is written in one way: envelope from the signed members, members in their order', () => {
    expect(text).toBe(
      `{"v":2,"origin":"gate-1","seq":8,"prev":"${HEAD.hash}","at":"${AT}","type":"HEAD",` +
        `"upto":7,"hash":"${HEAD.hash}","time":"${AT}","lines":5,"capsules":2,` +
        `"kid":"${head.kid}","sig":"${head.sig}"}`,
    )
    expect(read(text)).toEqual({ ok: true, kind: 'head', head })
    expect(head).toEqual({ origin: 'gate-1', ...HEAD, kid: head.kid, sig: head.sig })
  })

  it('is signed over what the documentation says, and over nothing else', () => {
    const signed =
      'capsule-gate/event/v1\n' +
      `{"capsules":2,"hash":"${HEAD.hash}","lines":5,"origin":"gate-1","time":"${AT}","type":"HEAD","upto":7}`
    const sig = Buffer.from(head.sig, 'base64url')
    expect(verify(null, Buffer.from(signed), publicKeyOf(KEYS.records), sig)).toBe(true)
  })

  const { kid, sig } = signature
  it.each<[string, string, string]>([
    ['a space', text.replace('"upto":', '"upto": '), 'head_spelled_otherwise'],
    ['a space at the end', `${text} `, 'head_spelled_otherwise'],
    ['a carriage return', `${text}\r`, 'head_spelled_otherwise'],
    [
      'another order',
      text.replace('"lines":5,"capsules":2', '"capsules":2,"lines":5'),
      'head_spelled_otherwise',
    ],
    ['another member', text.replace('"upto"', '"more":1,"upto"'), 'head_spelled_otherwise'],
    ['a member twice', text.replace('"upto"', '"upto":7,"upto"'), 'head_spelled_otherwise'],
    [
      'another first value of a member',
      text.replace('"upto"', '"upto":9,"upto"'),
      'head_spelled_otherwise',
    ],
    ['an escaped letter', text.replace('"HEAD"', '"H\\u0045AD"'), 'head_spelled_otherwise'],
    [
      'a number spelled otherwise',
      text.replace('"upto":7', '"upto":7.0'),
      'head_spelled_otherwise',
    ],
    ['another seq', text.replace('"seq":8', '"seq":9'), 'head_spelled_otherwise'],
    [
      'another prev',
      text.replace(`"prev":"${HEAD.hash}"`, `"prev":"${'a'.repeat(64)}"`),
      'head_spelled_otherwise',
    ],
    [
      'another at',
      text.replace(`"at":"${AT}"`, '"at":"2026-03-01T12:00:00.001Z"'),
      'head_spelled_otherwise',
    ],
    ['version 1', text.replace('"v":2', '"v":1'), 'head_spelled_otherwise'],
    ['another origin', text.replace('gate-1', 'gate-2'), 'head_foreign'],
    ['another count', text.replace('"lines":5', '"lines":4'), 'head_signature'],
    ['more capsules', text.replace('"capsules":2', '"capsules":3'), 'head_signature'],
    ['no signature', text.replace(`,"kid":"${kid}","sig":"${sig}"`, ''), 'head_malformed'],
    ['an empty signature', text.replace(sig, ''), 'head_malformed'],
    ['a padded signature', text.replace(sig, `${sig}==`), 'head_signature'],
    ['a member missing', text.replace('"capsules":2,', ''), 'head_malformed'],
    ['a negative count', text.replace('"lines":5', '"lines":-5'), 'head_malformed'],
    ['half of it', text.slice(0, 200), 'head_malformed'],
    ['nothing in it', '', 'head_malformed'],
    ['null', 'null', 'head_malformed'],
    ['a list', '[]', 'head_malformed'],
  ])('with %s does not hold', (_, bad, code) => {
    expect(bad).not.toBe(text)
    expect(read(bad)).toMatchObject({ ok: false, code })
  })

  it('does not hold with any octet changed, whatever to', () => {
    for (let i = 0; i < text.length; i++) {
      for (const flip of [1, 2, 4, 8, 16, 32, 64, 128]) {
        const octets = Buffer.from(text)
        octets[i] = (octets[i] as number) ^ flip
        expect(read(octets.toString('latin1')).ok).toBe(false)
      }
    }
  })

  it('does not hold by a key that is not listed, of another purpose, or not a key of this kind', () => {
    const other = eventKeys()
    expect(read(signHead(HEAD, by(other)).text)).toMatchObject({ code: 'head_key_unknown' })
    const wrong = eventKeys('statement')
    const keys = [...KEYS.records, ...wrong.records]
    expect(read(signHead(HEAD, by(wrong)).text, keys)).toMatchObject({
      why: 'its signature: key_purpose',
    })
    // Under a kid that is listed, with another key's signature.
    const posing = { ...by(other), kid: KEYS.signer.kid('event') }
    expect(read(signHead(HEAD, posing).text)).toMatchObject({
      why: 'its signature: signature_invalid',
    })
  })

  it('cannot be made of a signature over another type', () => {
    const halt = signEvent({ ...by(), type: 'HALT', members: { scope: { kind: 'all' }, by: 'x' } })
    expect(read(text.replace(sig, halt.members.sig))).toMatchObject({ code: 'head_signature' })
    const seal = JSON.parse(signSeal(SEAL, by()))
    expect(read(text.replace(sig, seal.sig))).toMatchObject({ code: 'head_signature' })
  })
})

describe('a seal of version 2', () => {
  const text = signSeal(SEAL, by())

  it('is a head, and says what it seals', () => {
    const { kid, sig } = JSON.parse(text)
    const head = { origin: 'gate-1', ...HEAD, kid, sig }
    expect(read(text)).toMatchObject({ ok: true, kind: 'seal', head, seal: SEAL })
    expect(readSeal(text, 'gate-1', KEYS.records, nodeCrypto)).toMatchObject({
      ok: true,
      seq: 8,
      at: AT,
      head: SEAL,
    })
  })

  it('has one spelling too: counts in the order of their names', () => {
    const other = text.replace('{"CAPSULE":2,"HEAD":1}', '{"HEAD":1,"CAPSULE":2}')
    expect(other).not.toBe(text)
    expect(read(other)).toMatchObject({ code: 'head_spelled_otherwise' })
    const more = { ...SEAL, counts: { ZEBRA: 1, ALPHA: 2 } }
    expect(signSeal(more, by())).toContain('"counts":{"ALPHA":2,"ZEBRA":1}')
  })

  it.each<[string, string]>([
    ['segment', '"segment":4'],
    ['size', '"size":7'],
    ['counts', '"counts":{"CAPSULE":1,"HEAD":1}'],
    ['lines', '"lines":6'],
  ])('does not hold with another %s', (name, now) => {
    const bad = text.replace(new RegExp(`"${name}":(\\d+|\\{[^}]*\\})`), now)
    expect(bad).not.toBe(text)
    expect(read(bad)).toMatchObject({ code: 'head_signature' })
  })

  it('with the members of version 1 is no head', () => {
    const members = { segment: 3, size: 6, root: SEAL.root, head: HEAD.hash }
    const entry = signEvent({ ...by(), type: 'SEGMENT_SEALED', members })
    const envelope = { origin: 'gate-1', seq: 8, prev: HEAD.hash, at: AT, type: 'SEGMENT_SEALED' }
    expect(read(formatLine(envelope, entry.json))).toMatchObject({ code: 'head_malformed' })
  })
})

describe('a head that is kept elsewhere', () => {
  const { head } = signHead(HEAD, by())
  const readKept = (value: object) => readSignedHead(value, KEYS.records, nodeCrypto)

  it('holds by its members alone', () => {
    expect(readKept(JSON.parse(JSON.stringify(head)))).toEqual({ ok: true, kind: 'head', head })
  })

  it.each(Object.keys(head))('does not hold with another %s, or without it', (name) => {
    const value: unknown = Reflect.get(head, name)
    const other = typeof value === 'number' ? value + 1 : `${value}`.replace(/.$/, '!')
    expect(readKept({ ...head, [name]: other }).ok).toBe(false)
    const { [name as 'upto']: _, ...without } = head
    expect(readKept(without).ok).toBe(false)
  })

  it('does not hold when it is made of a seal, whose signature is over more', () => {
    const { upto, hash, time, lines, capsules, kid, sig } = JSON.parse(signSeal(SEAL, by()))
    const kept = { origin: 'gate-1', upto, hash, time, lines, capsules, kid, sig }
    expect(readKept(kept)).toMatchObject({ code: 'head_signature' })
  })
})
