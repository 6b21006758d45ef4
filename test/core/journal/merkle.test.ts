import { createHash } from 'node:crypto'
import { describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { innerHash, merkleTree } from '../../../src/core/journal/merkle.js'
import { merkleRoot } from '../../adapters/journal/harness.js'

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest()
const leaf = (text: string): string => createHash('sha256').update(`\0${text}`).digest('hex')

describe('the Merkle tree', () => {
  it('has the root of RFC 6962 §2.1 after every leaf', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 70 }), (texts) => {
        const tree = merkleTree(innerHash({ sha256 }))
        expect(tree.root()).toBe(merkleRoot([]))
        texts.forEach((text, i) => {
          tree.push(leaf(text))
          expect(tree.size).toBe(i + 1)
          expect(tree.root()).toBe(merkleRoot(texts.slice(0, i + 1)))
        })
      }),
    )
  })
})
