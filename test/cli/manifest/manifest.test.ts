import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import { manifestOf, PAYMENTS } from '../../support/manifests.js'
import { cli } from '../support.js'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-cli-'))
  mkdirSync(join(dir, 'manifests'))
  writeFileSync(join(dir, 'manifests', 'payments.yaml'), PAYMENTS)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const run = (args: readonly string[]) => cli(args, { env: {} })
const manifests = (): string => join(dir, 'manifests')

describe('manifest show', () => {
  it('--expanded prints a manifest that loads to the same digest', async () => {
    const { code, out } = await run(['manifest', 'show', '--expanded', '-d', manifests()])
    expect(code).toBe(0)
    expect(manifestDigest(manifestOf(out), nodeCrypto)).toBe(
      manifestDigest(manifestOf(PAYMENTS), nodeCrypto),
    )
  })

  it('--evidence-schemas prints the schemas that are published for the manifest', async () => {
    const { code, out } = await run(['manifest', 'show', '--evidence-schemas', '-d', manifests()])
    expect(code).toBe(0)
    const digest = manifestDigest(manifestOf(PAYMENTS), nodeCrypto)
    expect(JSON.parse(out)).toMatchObject({
      $id: `urn:capsule-gate:evidence:${digest}`,
      $defs: { 'com.acme.payments.amount_cap': { additionalProperties: false } },
    })
  })

  it('lists tools, and as JSON with the digest', async () => {
    expect((await run(['manifest', 'show', '-d', manifests()])).out).toMatch(
      /create_refund {2}POST \/v1\/refunds {2}one_way_consequential {2}amount_cap, known_currency/,
    )
    const [shown] = JSON.parse((await run(['manifest', 'show', '--json', '-d', manifests()])).out)
    expect(shown.digest).toBe(manifestDigest(manifestOf(PAYMENTS), nodeCrypto))
  })
})

const SHOP = `id: com.acme.shop
object: {type: order, id: order, states: [open, closed], transitions: {close: {from: open, to: closed}}}
tools:
  close: {match: "POST /close/{order}", args: {order: string}, intent: required}
`

describe('a manifest with intent and an object', () => {
  it('is printed in full, and loads again to the same digest', async () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), SHOP)
    const { out } = await run(['manifest', 'show', '--expanded', '-d', manifests()])
    expect(JSON.parse(out)).toMatchObject({
      object: { id: '{order}', transitions: { close: { from: ['open'] } } },
      rules: [{ intent: 'required' }],
    })
    expect(manifestDigest(manifestOf(out), nodeCrypto)).toBe(
      manifestDigest(manifestOf(SHOP), nodeCrypto),
    )
  })

  it('is good with warnings of what it leaves open', async () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), SHOP)
    const thin = await run(['manifest', 'check', '-d', manifests()])
    expect([thin.code, thin.err]).toEqual([
      0,
      expect.stringMatching(/^warning {2}com\.acme\.shop: close cannot be undone .*thin: refuse$/m),
    ])
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), SHOP.replace('required', 'off'))
    const unused = await run(['manifest', 'check', '-d', manifests(), '--json'])
    expect(JSON.parse(unused.out)).toMatchObject({
      ok: true,
      warnings: [{ manifest: 'com.acme.shop', tool: null, code: 'object_unused' }],
    })
  })

  it('is refused with file, line and way out', async () => {
    const wrong = SHOP.replace('to: closed', 'to: gone')
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), wrong)
    const { code, err } = await run(['manifest', 'check', '-d', manifests()])
    expect(code).toBe(1)
    expect(err).toContain('there is no state gone; one of: open, closed')
    expect(err).toMatch(/payments\.yaml:2:\d+/)
  })
})

describe('manifest check', () => {
  it('exits 0 on good manifests found through gate.yaml', async () => {
    writeFileSync(join(dir, 'gate.yaml'), 'upstream: https://pay.internal\n')
    const { code, out } = await run(['manifest', 'check', '-c', join(dir, 'gate.yaml')])
    expect(out).toContain('ok  com.acme.payments  1 tools, 0 tests passed')
    expect(code).toBe(0)
  })

  it('exits 1 and names file, line and way out on a bad one', async () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), `${PAYMENTS}colour: red\n`)
    const { code, err } = await run(['manifest', 'check', '-d', manifests()])
    expect(err).toContain('payments.yaml:10:1: unknown key "colour"; known here: manifest, id')
    expect(code).toBe(1)
  })

  it('exits 1 when gate.yaml has no such upstream', async () => {
    writeFileSync(join(dir, 'gate.yaml'), 'operator: acme\n')
    const { code, err } = await run(['manifest', 'check', '-c', join(dir, 'gate.yaml')])
    expect(err).toContain('com.acme.payments: there is no upstream default')
    expect(code).toBe(1)
  })

  it('spells out control characters of a hostile file', async () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), `${PAYMENTS}"\\e[2Jx": red\n`)
    const { err } = await run(['manifest', 'check', '-d', manifests()])
    expect(err).toContain('unknown key')
    expect(err).not.toContain('\u001b')
  })
})
