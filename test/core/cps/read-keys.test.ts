import { describe, expect, it } from '@jest/globals'
import { readCpsKeys } from '../../../src/core/cps/read-keys.js'
import { signer } from './made.js'

const [one, two] = [signer().publicKey, signer().publicKey]
const record = (public_key: string, more: object) => ({
  kid: public_key,
  alg: -8,
  public_key,
  purpose: 'cps',
  status: 'active',
  ...more,
})
const keysIn = (value: unknown): unknown => {
  const read = readCpsKeys(JSON.stringify(value))
  return read.ok
    ? [read.keys.map(({ publicKey }) => publicKey), read.active?.publicKey ?? null]
    : read.path
}

describe('keys of capsules', () => {
  it('are those of a gate’s keyring that have the purpose', () => {
    expect(keysIn({ keys: [record(one, {}), record(two, { purpose: 'event' })] })).toEqual([
      [one],
      one,
    ])
    expect(keysIn({ keys: [record(one, { status: 'retired' })] })).toEqual([[one], null])
    expect(keysIn({ keys: [] })).toEqual([[], null])
  })

  it('are the epochs of a keyring of the protocol, and fingerprints with their keys', () => {
    const epochs = [
      { epoch: 0, public_key_hex: one, status: 'retired' },
      { epoch: 1, public_key_hex: two, status: 'active' },
    ]
    expect(keysIn({ version: 1, epochs })).toEqual([[one, two], two])
    expect(keysIn({ [one.slice(0, 16)]: one })).toEqual([[one], null])
    expect(keysIn({ keys: { [two.slice(0, 16)]: two } })).toEqual([[two], null])
  })

  it.each([
    [{ keys: [record(one, { purpse: 'x' })] }, '$.keys[0].purpse'],
    [{ keys: [record(one, { purpose: 'other' }), record(two, {})] }, '$.keys[0].purpose'],
    [{ epochs: [{ public_key_hex: one.slice(2) }] }, '$.epochs[0]'],
    [{ [two.slice(0, 16)]: one }, `$.${two.slice(0, 16)}`],
    [{ keys: {} }, '$'],
    [{}, '$'],
    [[], '$'],
    [{ [one.slice(0, 16)]: '00'.repeat(32) }, `$.${one.slice(0, 16)}`],
  ])('are wholly valid or refused: %#', (value, path) => {
    expect(keysIn(value)).toBe(path)
  })
})
