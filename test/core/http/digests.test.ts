import { createHash, createHmac } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { nodeHashing } from '../../../src/adapters/http-client/hashing.js'
import { ResponseBody } from '../../../src/core/http/response-body.js'
import { witness } from '../../../src/core/http/witness.js'
import { jsonDigestOf } from '../../../src/core/json/build.js'
import { parse } from '../../../src/core/json/parse.js'
import { HEAD, hmacUnder, RULE } from '../../adapters/http-client/harness.js'

/** Where a digest is taken a shorter way, the shorter way gives the same digest. */
const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 5 })
const salt = fc.option(fc.uint8Array({ minLength: 1, maxLength: 32 }))

describe('the digest of a body', () => {
  it('is that of its octets, in however many pieces they came, declared or not, whole or cut', () => {
    fc.assert(
      fc.property(pieces, salt, fc.option(fc.nat(20)), (parts, key, missing) => {
        const all = Buffer.concat(parts)
        const declared = missing === null ? null : all.length + missing
        const body = new ResponseBody({
          hashing: nodeHashing,
          salted: key === null ? null : hmacUnder(key),
          hold: 1024,
          declared,
        })
        for (const part of parts) body.push(part)
        const wanted = key === null ? createHash('sha256') : createHmac('sha256', key)
        const seen = body.finish()
        expect(seen.digest).toBe(wanted.update(all).digest('hex'))
        expect(seen.length).toBe(all.length)
        expect(Buffer.compare(seen.held ?? Buffer.alloc(0), all)).toBe(0)
      }),
    )
  })

  it('is of the octets as they came: memory used again afterwards does not change it', () => {
    for (const declared of [4, 8, null]) {
      const body = new ResponseBody({ hashing: nodeHashing, salted: null, hold: 0, declared })
      const memory = Buffer.from('true')
      body.push(memory)
      memory.fill('x')
      expect(body.finish().digest).toBe(createHash('sha256').update('true').digest('hex'))
    }
  })
})

/** Canonical texts and others: names sorted or not, spaces, escapes, members that normalize away. */
const written = fc.oneof(
  fc.json({ maxDepth: 3 }),
  fc
    .dictionary(
      fc.string({ unit: 'binary', maxLength: 4 }),
      fc.oneof(
        fc.string({ unit: 'binary', maxLength: 6 }),
        fc.maxSafeInteger(),
        fc.constantFrom(null, [], {}, [null], { a: null }, { b: 1, a: [] }, true),
      ),
      { maxKeys: 4 },
    )
    .chain((value) =>
      fc.constantFrom(
        JSON.stringify(value),
        JSON.stringify(Object.fromEntries(Object.entries(value).sort(byUnits))),
        JSON.stringify(value, null, 1),
      ),
    ),
  fc.constantFrom(
    '{"a":1.0}',
    '{"a":-0}',
    '{"a":1e1}',
    '{"a":"\\u0061"}',
    '{"a":"\\/"}',
    '"a"',
    '{}',
  ),
)
const byUnits = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

describe('the digest of a JSON answer', () => {
  it('is that of its value, also where the octets were canonical already', () => {
    fc.assert(
      fc.property(written, (text) => {
        const held = Buffer.from(text)
        const parsed = parse(held)
        const wanted = parsed.ok ? jsonDigestOf(parsed.value, nodeCrypto) : null
        const digest = createHash('sha256').update(held).digest('hex')
        const seen = witness(
          { ...HEAD, contentType: 'application/json' },
          'content_length',
          { digest, length: held.length, held },
          RULE,
          nodeHashing,
        )
        if (seen.kind !== 'complete') throw new Error(seen.kind)
        const { binding, responseDigest } = seen.response.seen
        if (wanted === null) expect(binding).toBe('octets')
        else
          expect({ binding, responseDigest }).toEqual({ binding: 'json', responseDigest: wanted })
      }),
      { numRuns: 1000 },
    )
  })
})
