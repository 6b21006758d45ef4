import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { verifyBundle } from '../../../src/cps.js'
import { bundleOf, chainOf, filesOf, signer } from './made.js'

const ours = signer()
const stranger = signer()
const chains = { 'bot-s1': chainOf(3, ours), 'bot-s2': chainOf(2, ours, { domain: 'second' }) }
const made = bundleOf(chains, ours)
const keys = [{ publicKey: ours.publicKey }]
const verify = (files: ReadonlyMap<string, string>, more: object = { keys }) =>
  verifyBundle(filesOf(files), { crypto: nodeCrypto, ...more })
const codes = (files: ReadonlyMap<string, string>, more?: object): string[] =>
  verify(files, more).findings.map(({ code, chain }) => `${code} ${chain}`)

type Entry = { canonical: string; signature: string; signed_by: string; hash: string }
/** A file of the bundle, as far as it is changed here. */
type Changed = {
  capsules: [Entry, Entry, ...Entry[]]
  length: number
  head_hash: string | undefined
  keys: object
  chains: object[]
}
const changed = (name: string, change: (json: Changed) => void): Map<string, string> => {
  const json = JSON.parse(made.get(name) ?? '')
  change(json)
  return new Map(made).set(name, JSON.stringify(json))
}
const without = (...names: string[]): Map<string, string> =>
  new Map([...made].filter(([name]) => !names.includes(name)))

describe('a bundle', () => {
  it('is whole under keys that were given, and says so where they are its own', () => {
    expect(verify(made)).toMatchObject({ ok: true, chains: 2, capsules: 7, keys: 'given' })
    const own = verify(made, {})
    expect(own).toMatchObject({
      ok: true,
      keys: 'bundle',
      not_checked: expect.arrayContaining(['signers']),
    })
  })

  it.each<[string, Map<string, string>, string[]]>([
    [
      'a byte of a capsule',
      changed('bot-s1.json', (chain) => {
        chain.capsules[1].canonical = chain.capsules[1].canonical.replace('step 1', 'step 9')
      }),
      ['hash_mismatch bot-s1'],
    ],
    [
      'a signature',
      changed('bot-s1.json', (chain) => {
        chain.capsules[1].signature = chain.capsules[0].signature
      }),
      ['invalid_signature bot-s1'],
    ],
    [
      'a signer',
      changed('bot-s1.json', (chain) => {
        chain.capsules[1].signed_by = '0'.repeat(16)
      }),
      ['key_unknown bot-s1'],
    ],
    [
      'the order',
      changed('bot-s1.json', (chain) => {
        chain.capsules.reverse()
      }),
      ['sequence bot-s1'],
    ],
    [
      'the tail',
      changed('bot-s1.json', (chain) => {
        chain.capsules.pop()
        chain.length = 2
        chain.head_hash = chain.capsules[1].hash
      }),
      ['summary_mismatch bot-s1', 'meta_mismatch bot-s1'],
    ],
    ['a whole chain', without('bot-s2.json'), ['chain_missing bot-s2', 'meta_mismatch bot-s2']],
    ['the meta-chain', without('meta.json'), ['meta_missing meta']],
    [
      'the tail of the meta-chain',
      changed('meta.json', (meta) => {
        meta.capsules.pop()
        meta.length = 1
        meta.head_hash = meta.capsules[0].hash
      }),
      ['chain_unsealed bot-s2'],
    ],
    [
      'a key under another name',
      changed('index.json', (index) => {
        index.keys = { ['0'.repeat(16)]: ours.publicKey }
      }),
      ['key_fingerprint null'],
    ],
    ['the index', new Map(made).set('index.json', '{'), ['index_unreadable null']],
    [
      'a chain that nobody lists',
      new Map(made).set('bot-s9.json', made.get('bot-s1.json') ?? ''),
      ['chain_unlisted bot-s9'],
    ],
  ])('is red where %s is gone or changed', (_, files, found) => {
    expect(codes(files)).toEqual(expect.arrayContaining(found))
    expect(verify(files).ok).toBe(false)
  })

  it('is red where a whole chain is gone from files and index, because it was sealed', () => {
    const files = changed('index.json', (index) => {
      index.chains.pop()
    })
    files.delete('bot-s2.json')
    expect(codes(files)).toEqual(['meta_mismatch bot-s2'])
  })

  it('that somebody else signed again is believed under its own keys alone', () => {
    const again = bundleOf(
      { 'bot-s1': chainOf(3, stranger), 'bot-s2': chainOf(2, stranger) },
      stranger,
    )
    expect(verify(again, {})).toMatchObject({ ok: true, keys: 'bundle' })
    expect(codes(again)).toEqual(
      expect.arrayContaining(['key_not_given null', 'key_unknown bot-s1']),
    )
  })
})
