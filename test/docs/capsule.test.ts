import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { VERDICT_CLASSES } from '../../src/core/capsule/registries.js'
import { verifyCapsule } from '../../src/verify.js'
import { outcomeSample, samples } from '../core/capsule/samples.js'

/** docs/capsule.md shows what the builder builds. `UPDATE_DOCS=1` writes the examples anew. */
const FILE = join(import.meta.dirname, '..', '..', 'docs', 'capsule.md')
const BLOCK = /<!-- example: (\w+) -->\n```json\n([\s\S]*?)\n```/g

const all = samples()
const store = new Set(all.map(({ capsule }) => capsule.capsule_id))
const built = new Map(all.map(({ name, capsule }) => [name, capsule]))
const [first] = all
if (first === undefined) throw new Error('no samples')
built.set('outcome', outcomeSample(first.capsule))

if (process.env.UPDATE_DOCS === '1') {
  const text = readFileSync(FILE, 'utf8')
  writeFileSync(
    FILE,
    text.replace(BLOCK, (_, name: string) => {
      const json = JSON.stringify(built.get(name), null, 2)
      return `<!-- example: ${name} -->\n\`\`\`json\n${json}\n\`\`\``
    }),
  )
}
const examples = new Map(
  [...readFileSync(FILE, 'utf8').matchAll(BLOCK)].map(([, name, json]) => [
    String(name),
    String(json),
  ]),
)

describe('docs/capsule.md', () => {
  it('has one example per verdict class, and an outcome', () => {
    expect([...examples.keys()].sort()).toEqual([...VERDICT_CLASSES, 'outcome'].sort())
  })

  for (const [name, json] of examples) {
    it(`${name}: is what the builder builds, and passes Class 1 strict`, () => {
      expect(JSON.parse(json)).toEqual(JSON.parse(JSON.stringify(built.get(name))))
      const result = verifyCapsule(json, { store, crypto: nodeCrypto })
      expect(result.findings.filter(({ severity }) => severity === 'error')).toEqual([])
      if (name !== 'outcome') expect(JSON.parse(json).disposition.verdict_class).toBe(name)
    })
  }

  it('states both bindings and what confirmed does not mean', () => {
    const text = readFileSync(FILE, 'utf8')
    for (const phrase of ['**`json`**', '**`octets`**', '## What confirmed does not mean'])
      expect(text).toContain(phrase)
  })
})
