import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { nobleCrypto } from '../../src/core/crypto/noble.js'
import { verifyCapsule } from '../../src/verify.js'

type Case = { section: string; name: string; input: string; strict: string[]; compat: string[] }
const cases: Case[] = JSON.parse(readFileSync(join(import.meta.dirname, 'class1.json'), 'utf8'))

it('are what the generator writes', () => {
  const script = join(import.meta.dirname, 'generate.mjs')
  const written = execFileSync(process.execPath, [script], { encoding: 'utf8' })
  expect(JSON.parse(written)).toEqual(cases)
})

for (const crypto of [nodeCrypto, nobleCrypto])
  for (const profile of ['strict', 'compat'] as const)
    describe(`the seed's own rules, ${profile}, ${crypto.name}`, () => {
      for (const vector of cases)
        it(`§${vector.section} ${vector.name}`, () => {
          const { ok, findings } = verifyCapsule(vector.input, { profile, crypto })
          const said = findings.map(({ check, severity }) => `${check} ${severity}`)
          expect(said).toEqual(vector[profile])
          expect(ok).toBe(!vector[profile].some((finding) => finding.endsWith('error')))
        })
    })
