import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { manifestDigest } from '../../../src/core/manifest/expand/expand.js'
import { manifestOf, PAYMENTS } from '../../support/manifests.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
/** The two commands on a program of their own, in a real process on the build. */
const PROGRAM = `
import { Command } from 'commander'
import * as config from './dist/cli/config.js'
import * as manifest from './dist/cli/manifest/manifest.js'
const program = new Command('capsule-gate')
for (const { register } of [config, manifest]) register(program)
await program.parseAsync(process.argv.slice(1), { from: 'user' })
`
let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'gate-cli-'))
  mkdirSync(join(dir, 'manifests'))
  writeFileSync(join(dir, 'manifests', 'payments.yaml'), PAYMENTS)
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

function run(args: readonly string[], env: Record<string, string> = {}) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--input-type=module', '-e', PROGRAM, '--', ...args],
    { cwd: ROOT, encoding: 'utf8', env: { PATH: process.env.PATH ?? '', ...env } },
  )
  return { status, stdout, stderr }
}
const manifests = (): string => join(dir, 'manifests')

describe('manifest show', () => {
  it('--expanded prints a manifest that loads to the same digest', () => {
    const { status, stdout } = run(['manifest', 'show', '--expanded', '-d', manifests()])
    expect(status).toBe(0)
    expect(manifestDigest(manifestOf(stdout), nodeCrypto)).toBe(
      manifestDigest(manifestOf(PAYMENTS), nodeCrypto),
    )
  })

  it('--evidence-schemas prints the schemas that are published for the manifest', () => {
    const { status, stdout } = run(['manifest', 'show', '--evidence-schemas', '-d', manifests()])
    expect(status).toBe(0)
    const digest = manifestDigest(manifestOf(PAYMENTS), nodeCrypto)
    expect(JSON.parse(stdout)).toMatchObject({
      $id: `urn:capsule-gate:evidence:${digest}`,
      $defs: { 'com.acme.payments.amount_cap': { additionalProperties: false } },
    })
  })

  it('lists tools, and as JSON with the digest', () => {
    expect(run(['manifest', 'show', '-d', manifests()]).stdout).toMatch(
      /create_refund {2}POST \/v1\/refunds {2}one_way_consequential {2}amount_cap, known_currency/,
    )
    const [shown] = JSON.parse(run(['manifest', 'show', '--json', '-d', manifests()]).stdout)
    expect(shown.digest).toBe(manifestDigest(manifestOf(PAYMENTS), nodeCrypto))
  })
})

describe('manifest check', () => {
  it('exits 0 on good manifests found through gate.yaml', () => {
    writeFileSync(join(dir, 'gate.yaml'), 'upstream: https://pay.internal\n')
    const { status, stdout } = run(['manifest', 'check', '-c', join(dir, 'gate.yaml')])
    expect(stdout).toContain('ok  com.acme.payments  1 tools, 0 tests passed')
    expect(status).toBe(0)
  })

  it('exits 1 and names file, line and way out on a bad one', () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), `${PAYMENTS}colour: red\n`)
    const { status, stderr } = run(['manifest', 'check', '-d', manifests()])
    expect(stderr).toContain('payments.yaml:10:1: unknown key "colour"; known here: manifest, id')
    expect(status).toBe(1)
  })

  it('exits 1 when gate.yaml has no such upstream', () => {
    writeFileSync(join(dir, 'gate.yaml'), 'operator: acme\n')
    const { status, stderr } = run(['manifest', 'check', '-c', join(dir, 'gate.yaml')])
    expect(stderr).toContain('com.acme.payments: there is no upstream default')
    expect(status).toBe(1)
  })

  it('spells out control characters of a hostile file', () => {
    writeFileSync(join(dir, 'manifests', 'payments.yaml'), `${PAYMENTS}"\\e[2Jx": red\n`)
    const { stderr } = run(['manifest', 'check', '-d', manifests()])
    expect(stderr).toContain('unknown key')
    expect(stderr).not.toContain('\u001b')
  })
})

describe('config', () => {
  it('check prints the effective view without secrets', () => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, 'upstream: https://pay.internal\ncredential: {env: PAY}\n')
    const { status, stdout } = run(['config', 'check', file], { PAY: 'hunter2' })
    expect(status).toBe(0)
    expect(stdout).toContain('(from env PAY)')
    expect(stdout).not.toContain('hunter2')
  })

  it('check exits 1 with problems as JSON', () => {
    const file = join(dir, 'gate.yaml')
    writeFileSync(file, 'upstrem: x\n')
    const { status, stdout } = run(['config', 'check', '--json', file])
    expect(status).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, problems: [{ line: 1, column: 1 }] })
  })

  it('schema prints a strict JSON Schema', () => {
    const schema = JSON.parse(run(['config', 'schema']).stdout)
    expect(schema).toMatchObject({ additionalProperties: false, type: 'object' })
  })
})
