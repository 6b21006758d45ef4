import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../src/adapters/crypto-node.js'
import { payloadOf } from '../src/core/capsule/build.js'
import { verifyCapsule, verifyDisclosure, verifyLedger, verifyStatement } from '../src/verify.js'
import { samples } from './core/capsule/samples.js'
import { cose, key } from './core/verify/signing.js'

/**
 * A hundred thousand inputs that were made to hurt. Each must end in a finding, none in an exception,
 * and the work must stay in proportion to the bytes. Seeded, so that a failure comes back.
 */
const COUNT = 100_000
let state = 0x9e3779b9
/** xorshift32: all that is needed is that it repeats. */
const random = (below: number): number => {
  state ^= state << 13
  state ^= state >>> 17
  state ^= state << 5
  return (state >>> 0) % below
}
const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T
const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)
const join = (...parts: (Uint8Array | number[])[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => [...part]))

const payloads = samples().map(({ capsule }) => payloadOf(capsule))
const statements = samples().map(({ capsule }) => cose(capsule))

const JSON_ATTACKS: readonly (() => string)[] = [
  () => pick(['[', '{"a":', '[{"a":', '"\\']).repeat(1 + random(3000)),
  () => `{"effect":${'['.repeat(random(200))}${']'.repeat(random(200))}}`,
  () => pick(payloads).replace(/"action_id"/, '"operator"'),
  () =>
    pick(payloads).replace(
      /"timestamp":"[^"]*"/,
      `"timestamp":${pick(['1e999', '-0.0', '1'.repeat(400), '[]', '{}', 'null', 'true', '""'])}`,
    ),
  () =>
    pick(payloads).replace(
      /"capsule_id":"[^"]*"/,
      `"capsule_id":"${pick(['', 'A'.repeat(64), '0'.repeat(63), '\\ud800', '__proto__'])}"`,
    ),
  () => {
    const text = pick(payloads)
    return text.slice(0, random(text.length))
  },
  () => pick(payloads) + pick(['x', '{}', '\u0000', '}', ',']),
  () =>
    `{"constraints":[${Array(random(600))
      .fill(pick(['1', '{}', '1.5', '[]']))
      .join(',')}]}`,
  () =>
    `{${Array.from({ length: random(300) }, (_, i) => `"k${i % pick([7, 1000])}":${i}`).join(',')}}`,
  () =>
    pick(payloads).replace(
      /"disposition":\{[^}]*\}/,
      `"disposition":${pick(['[]', 'null', '7', '"x"', '{"approver":[],"decision":{},"human_disposed":"true"}', '{"verdict_class":["denied"]}'])}`,
    ),
  () =>
    `{"effect":{"status":${pick(['["confirmed"]', '{}', '1', 'null', '"confirmed"'])},"effect_attestation":${pick(['[]', '{}', '0'])}}}`,
  () =>
    `{"chain":{"parent_capsule_id":${pick(['null', '1.5', '"x"', '{}'])},"relation":${pick(['[]', '1', '""', 'null'])}}}`,
  () => `[${'1.5,'.repeat(random(500))}1e5]`,
  () => `{"__proto__":{"ok":true},"constructor":{"prototype":{"ok":true}},"toString":${random(9)}}`,
  () => `"${'\\u0041'.repeat(random(400))}${pick(['', '\\ud800', '\\u00'])}"`,
  () => `{"${'n'.repeat(random(5000))}":[${'1.5,'.repeat(random(200))}1.5]}`,
]

const head = (major: number, info: number): number => (major << 5) | info
const EIGHT = [0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]
const CBOR_ATTACKS: readonly (() => Uint8Array)[] = [
  () => join([0xd2, head(4, 27)], EIGHT),
  () => join([0xd2, 0x84, head(pick([2, 3, 4, 5]), 27)], EIGHT, [random(256)]),
  () => join([0xd2, 0x84, head(pick([2, 3, 4, 5]), 31)], [random(256), 0xff]),
  () => join([0xd2], Array(1 + random(2000)).fill(pick([0x81, 0xa1, 0xc6, 0xd2]))),
  () => join([0xd2, 0x84, 0x43, 0xa1, 0x01, 0x27, 0xa0, head(2, 26), 0x7f, 0xff, 0xff, 0xff]),
  () => {
    const bytes = Uint8Array.from(pick(statements))
    const at = random(bytes.length)
    bytes[at] = (bytes[at] ?? 0) ^ (1 + random(255))
    return bytes
  },
  () => pick(statements).subarray(0, random(400)),
  () => join(pick(statements), [random(256)]),
  () => join([0xd2, 0x84, 0x46, 0xa2, 0x01, 0x27, 0x01, 0x27, 0xa0, 0xa0, 0x40, 0x40]),
  () => Uint8Array.from({ length: random(200) }, () => random(256)),
  () => join([0xd2, 0x84, 0x40, 0xa0, 0xf6, 0x40]),
  () => join([0xd2, 0x84, 0x45, 0xa1, 0x18, 0x01, 0x27, 0x00, 0xa0, 0x40, 0x40]),
]
const BYTES_ATTACKS: readonly (() => Uint8Array)[] = [
  () => {
    const bytes = utf8(pick(payloads))
    bytes[random(bytes.length)] = pick([0xff, 0xc0, 0xed, 0xf5, 0x80, 0x00])
    return bytes
  },
  () => join([0xef, 0xbb, 0xbf], utf8(pick(payloads))),
  () => Uint8Array.from({ length: random(300) }, () => random(256)),
]

describe('hostile input', () => {
  it('what is neither text nor bytes ends in a finding too', async () => {
    const things: unknown[] = [
      undefined,
      null,
      7,
      1e9,
      {},
      [],
      { length: 2 ** 31 },
      () => 1,
      Symbol.iterator,
    ]
    for (const thing of things) {
      const input = thing as string
      expect(verifyCapsule(input, { crypto: nodeCrypto }).ok).toBe(false)
      expect(verifyLedger(input, { crypto: nodeCrypto }).results.map(({ ok }) => ok)).toEqual([
        false,
      ])
      expect(verifyDisclosure(input, { crypto: nodeCrypto }).ok).toBe(false)
      const statement = await verifyStatement(thing as Uint8Array, {
        crypto: nodeCrypto,
        keys: [key],
      })
      expect(statement.signature.code).toBe('malformed')
    }
  })

  it(`${COUNT} inputs all end in a finding, with work bounded by their size`, async () => {
    const began = process.memoryUsage().heapUsed
    let slowest = { ms: 0, bytes: 0, kind: '' }
    let worst = 0
    let peak = 0
    const accepted: string[] = []
    for (let i = 0; i < COUNT; i++) {
      const kind = pick(['capsule', 'ledger', 'disclosure', 'bytes', 'statement'] as const)
      const options = { crypto: nodeCrypto, profile: pick(['strict', 'compat'] as const) }
      const input =
        kind === 'statement'
          ? pick(CBOR_ATTACKS)()
          : kind === 'bytes'
            ? pick(BYTES_ATTACKS)()
            : pick(JSON_ATTACKS)()
      const start = performance.now()
      let ok: boolean
      let found: number
      if (kind === 'statement') {
        const result = await verifyStatement(input as Uint8Array, { ...options, keys: [key] })
        ok = result.ok
        found = result.signature.code === null ? 0 : 1
      } else if (kind === 'ledger') {
        const { results } = verifyLedger(input, options)
        ok = results.every((one) => one.ok)
        found = results.flatMap(({ findings }) => findings).length
      } else if (kind === 'disclosure') {
        const result = verifyDisclosure(input, options)
        ok = result.ok
        found = result.capsule.findings.length
      } else {
        const result = verifyCapsule(input, options)
        ok = result.ok
        found = result.findings.length
        if (found > 257) throw new Error(`${found} findings`)
      }
      const ms = performance.now() - start
      if (ok || found === 0) accepted.push(`${kind}: ${String(input).slice(0, 80)}`)
      if (ms > slowest.ms) slowest = { ms, bytes: input.length, kind }
      if (input.length > 2000) worst = Math.max(worst, (ms * 1e6) / input.length)
      if (i % 1000 === 0) peak = Math.max(peak, process.memoryUsage().heapUsed - began)
    }
    process.stdout.write(
      `hostile: ${COUNT} inputs, slowest ${slowest.ms.toFixed(1)} ms (${slowest.kind}, ${slowest.bytes} bytes), worst ${Math.round(worst)} ns per byte, heap peak +${Math.round(peak / 2 ** 20)} MiB\n`,
    )
    expect(accepted).toEqual([])
    expect(peak).toBeLessThan(256 * 2 ** 20)
  }, 300_000)

  it('doubling the input does not square the work: ten shapes at three sizes', () => {
    const shapes: Record<string, (n: number) => string> = {
      'floats under a long name': (n) => `{"${'n'.repeat(n)}":[${'1.5,'.repeat(n)}1]}`,
      'constraints that are numbers': (n) => `{"constraints":[${'1,'.repeat(n)}1]}`,
      'distinct names': (n) => `{${Array.from({ length: n }, (_, i) => `"${i}":${i}`).join()}}`,
      escapes: (n) => `{"a":"${'\\u0041'.repeat(n)}"}`,
      'surrogate pairs': (n) => `{"a":"${'😀'.repeat(n)}"}`,
      'one long number': (n) => `{"a":${'1'.repeat(n)}}`,
      'selective disclosure names': (n) => `[${'{"_sd":1},'.repeat(n)}1]`,
      'wide and nested': (n) => `{"a":[${'[[[]]],'.repeat(n)}1]}`,
      'an array ledger that never ends': (n) => `[${'{},'.repeat(n)}`,
      'unclosed strings': (n) => `["${'\\"'.repeat(n)}`,
    }
    // Steps are not counted but findings are: the report must not grow with the attack.
    for (const [name, make] of Object.entries(shapes))
      for (const n of [1000, 10_000, 100_000]) {
        const one = verifyCapsule(make(n), { crypto: nodeCrypto })
        expect([name, one.ok, one.findings.length <= 257]).toEqual([name, false, true])
        expect(JSON.stringify(one).length).toBeLessThan(64_000)
      }
  })
})
