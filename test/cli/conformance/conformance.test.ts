import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { missingVectors, needs, VECTORS } from '../../support/needs.js'
import { cli } from '../support.js'

let root: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'capsule-gate-conformance-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('capsule-gate conformance', () => {
  it('runs nothing and says so: exit 1, or 0 when that was allowed', async () => {
    for (const directory of [root, join(root, 'absent')]) {
      expect(await cli(['conformance', directory])).toEqual({
        code: 1,
        out: 'vectors: not present\n',
        err: '',
      })
      expect((await cli(['conformance', directory, '--allow-missing'])).code).toBe(0)
    }
  })
})

needs(missingVectors()).describe('capsule-gate conformance on the public vectors', () => {
  it.each(['node', 'noble'])('agrees on every public vector with engine %s', async (engine) => {
    const { code, out } = await cli(['conformance', VECTORS, '--engine', engine, '--json'])
    const { run, disagreements, cases } = JSON.parse(out)
    expect(
      cases.filter((c: { expected: string; actual: string }) => c.expected !== c.actual),
    ).toEqual([])
    expect({ code, disagreements }).toEqual({ code: 0, disagreements: 0 })
    const suites = new Set(cases.map((c: { suite: string }) => c.suite))
    expect(suites.size).toBe(9)
    const others = cases.filter((c: { suite: string }) => c.suite.startsWith('cps/'))
    expect(others).toHaveLength(53)
    expect(run).toBe(cases.length)
    // Five of draft -03 with an expectation of their own, none skipped.
    expect(
      cases.filter((c: { note: string | null }) => c.note?.startsWith('draft -03')),
    ).toHaveLength(5)
  })

  it('exits 1 and names the vector when one disagrees', async () => {
    cpSync(VECTORS, root, { recursive: true })
    const path = join(root, 'aac', 'class1', 'pos-denied', 'expected.json')
    writeFileSync(path, readFileSync(path, 'utf8').replace('"ok": true', '"ok": false'))
    const statement = join(root, 'cose', 'scitt-cose-v1', 'valid-eddsa', 'statement.cose')
    const bytes = readFileSync(statement)
    bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
    writeFileSync(statement, bytes)
    const { code, out } = await cli(['conformance', root])
    expect(code).toBe(1)
    expect(out.match(/^DIFFERS .*$/gm)).toHaveLength(2)
    expect(out).toMatch(/DIFFERS +aac\/class1 +pos-denied/)
    expect(out).toMatch(/DIFFERS +cose\/scitt-cose-v1 +valid-eddsa +refused, expected accepted/)
    expect(out).toMatch(/vectors: \d+ run\n$/)
  })
})
