import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { OBJECT_NAMESPACE, objectIdOf, templateArgs } from '../../../src/core/intent/object-id.js'
import type { ArgValue } from '../../../src/core/manifest/constraint/typed-value.js'

type Values = { readonly [name: string]: string | bigint | boolean | ArgValue }

const typed = (value: Values[string]): ArgValue => {
  if (typeof value === 'string') return { type: 'string', value }
  if (typeof value === 'bigint') return { type: 'integer', value }
  return typeof value === 'boolean' ? { type: 'boolean', value } : value
}
const idOf = (id: string, values: Values, type = 'order'): string | null =>
  objectIdOf(
    { type, id },
    new Map(Object.entries(values).map(([name, value]) => [name, typed(value)])),
    nodeCrypto,
  )

describe('the id of an object', () => {
  it('is a UUID of the arguments, in lower case', () => {
    const uuid = '0193F5C2-7B1E-7CCC-8000-00000000ABCD'
    expect(idOf('{order}', { order: uuid })).toBe(uuid.toLowerCase())
  })

  it('is otherwise what docs/manifest.md tells an issuer to compute', () => {
    const octets = createHash('sha256')
      .update(Buffer.from(OBJECT_NAMESPACE.replaceAll('-', ''), 'hex'))
      .update('booking\nbooking:17', 'utf8')
      .digest()
      .subarray(0, 16)
    octets[6] = ((octets[6] ?? 0) % 16) + 0x80
    octets[8] = ((octets[8] ?? 0) % 64) + 0x80
    expect(idOf('booking:{id}', { id: 17n }, 'booking')?.replaceAll('-', '')).toBe(
      octets.toString('hex'),
    )
    expect(idOf('{order}', { order: 'o-1' })).toBe('3eb2d85a-204d-8789-99ba-29fcdb8fd4e3')
  })

  it('is computed from percent-encoded values where there are several', () => {
    expect(idOf('{tenant}:{order}', { tenant: 'acme', order: 'o/1' })).toBe(
      '68217fb3-3e66-8810-890d-c57f4e95d7c7',
    )
  })

  it.each([
    ['no RFC 9562 UUID: version 0', '00000000-0000-0000-0000-000000000000'],
    ['no RFC 9562 UUID: another variant', '0193f5c2-7b1e-7ccc-c000-00000000abcd'],
    ['a UUID and a line end', '0193f5c2-7b1e-7ccc-8000-00000000abcd\n'],
    ['a UUID in braces', '{0193f5c2-7b1e-7ccc-8000-00000000abcd}'],
  ])('is computed for %s', (_, order) => {
    expect(idOf('{order}', { order })).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8/)
    expect(idOf('{order}', { order })).not.toBe(order)
  })

  it('is not taken from an argument that holds the computed id of another object', () => {
    const id = idOf('{order}', { order: 'o-1' }) ?? ''
    expect(idOf('{order}', { order: id })).not.toBe(id)
  })

  it.each<[string, Values[string], string]>([
    ['an integer', 10n, '10'],
    ['a decimal', { type: 'decimal', value: '10' }, '10'],
    ['a boolean', true, 'true'],
  ])('reads %s as its text', (_, value, text) => {
    expect(idOf('{order}', { order: value })).toBe(idOf('{order}', { order: text }))
  })

  it('is null without the argument, and for lists and objects', () => {
    expect(idOf('{order}', {})).toBeNull()
    expect(idOf('{a}:{b}', { a: 'x' })).toBeNull()
    expect(idOf('{order}', { order: { type: 'strings', value: ['x'] } })).toBeNull()
    expect(idOf('{order}', { order: { type: 'object', value: new Map() } })).toBeNull()
    expect(idOf('{order}', { order: { type: 'objects', value: [] } })).toBeNull()
  })

  it('is that of the empty name for an empty argument, never null', () => {
    expect(idOf('{order}', { order: '' })).not.toBeNull()
  })

  it('names arguments only where braces are closed', () => {
    expect(templateArgs('a{b}c:{d}')).toEqual(['b', 'd'])
    expect(templateArgs('order')).toEqual([])
  })
})

/** Texts that try to look like what stands between two arguments. */
const sly = fc.oneof(
  fc.stringMatching(/^[:/%{}a3AF-]{0,6}$/),
  fc.string({ unit: 'grapheme', maxLength: 6 }),
  fc.uuid(),
)

describe('two objects', () => {
  it('of one type have one id where their arguments are the same, and only there', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('{a}:{b}', 'x/{a}/y{b}z', '{a}a:3A/{b}', '{a}/%{b}'),
        fc.tuple(sly, sly),
        fc.tuple(sly, sly),
        (template, [a, b], [c, d]) => {
          const one = idOf(template, { a, b })
          const other = idOf(template, { a: c, b: d })
          expect(one === other).toBe(a === c && b === d)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('have different ids where characters move from one argument to the next', () => {
    fc.assert(
      fc.property(sly, sly, sly, (a, b, c) => {
        const one = idOf('{a}:{b}', { a: `${a}:${b}`, b: c })
        expect(one).not.toBe(idOf('{a}:{b}', { a, b: `${b}:${c}` }))
      }),
    )
  })

  it('of different types never share a computed id', () => {
    const type = fc.stringMatching(/^[A-Za-z][A-Za-z0-9_.-]{0,8}$/)
    fc.assert(
      fc.property(type, type, fc.string(), fc.string(), (one, other, name, another) => {
        fc.pre(one !== other)
        const [a, b] = [name, another].map((text) => `o:${text}`)
        expect(idOf('{order}', { order: a as string }, one)).not.toBe(
          idOf('{order}', { order: b as string }, other),
        )
        expect(idOf('{order}', { order: `${other}\n${a}` }, one)).not.toBe(
          idOf('{order}', { order: a as string }, other),
        )
      }),
    )
  })
})
