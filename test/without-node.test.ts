import { readFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import vm from 'node:vm'
import { beforeAll, describe, expect, it } from '@jest/globals'
import { payloadOf } from '../src/core/capsule/build.js'
import { samples } from './core/capsule/samples.js'
import { AT, parts, signer } from './core/cps/made.js'
import { cose, key } from './core/verify/signing.js'

/**
 * The built verifier in a realm that is no Node: no process, Buffer, require, URL or fetch. Only the
 * two text codecs every host has are given. Modules are linked by hand, so a `node:` import fails.
 */
const DIST = join(import.meta.dirname, '..', 'dist')
const MODULES = join(DIST, '..', 'node_modules')
const loaded = new Map<string, Promise<vm.Module>>()
const specifiers: string[] = []

async function packageFile(specifier: string): Promise<string> {
  const [scope, name, ...rest] = specifier.split('/') as [string, string, ...string[]]
  const folder = scope.startsWith('@') ? join(MODULES, scope, name) : join(MODULES, scope)
  const subpath = (scope.startsWith('@') ? rest : [name, ...rest].filter(Boolean)).join('/')
  const { exports, main } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'))
  const entry = exports?.[subpath === '' ? '.' : `./${subpath}`] ?? main
  return join(folder, typeof entry === 'string' ? entry : (entry.import ?? entry.default))
}

/** The promise is kept, not the module: two importers at once must get one instance. */
function load(file: string, context: vm.Context): Promise<vm.Module> {
  const module =
    loaded.get(file) ??
    readFile(file, 'utf8').then(
      (text) => new vm.SourceTextModule(text, { context, identifier: file }),
    )
  loaded.set(file, module)
  return module
}

async function link(specifier: string, from: vm.Module, context: vm.Context): Promise<vm.Module> {
  specifiers.push(specifier)
  if (specifier.startsWith('node:')) throw new Error(`${from.identifier} imports ${specifier}`)
  const file = specifier.startsWith('.')
    ? resolve(dirname(from.identifier), specifier)
    : await packageFile(specifier)
  return load(file, context)
}

async function entry<Entry>(name: string): Promise<Entry> {
  loaded.clear()
  specifiers.length = 0
  const context = vm.createContext({ TextEncoder, TextDecoder })
  const root = await load(join(DIST, name), context)
  await root.link((specifier, from) => link(specifier, from as vm.Module, context))
  await root.evaluate()
  return root.namespace as Entry
}

const all = samples().map(({ capsule }) => capsule)

describe('dist/verify.js without Node', () => {
  let verify: typeof import('../src/verify.js')
  beforeAll(async () => {
    verify = await entry('verify.js')
  })

  it('has the whole surface, and stands on no Node module; canonicalize is its writer', () => {
    expect(Object.keys(verify).sort()).toEqual([
      'verifyCapsule',
      'verifyDisclosure',
      'verifyLedger',
      'verifyLedgerStream',
      'verifySign1',
      'verifyStatement',
    ])
    expect(specifiers).toContain('canonicalize')
    expect([...loaded.keys()].some((file) => file.includes('adapters'))).toBe(false)
  })

  it('verifies capsules, a ledger and a statement with noble', async () => {
    const payloads = all.map(payloadOf)
    for (const payload of payloads)
      expect(verify.verifyCapsule(payload).findings.filter((f) => f.severity !== 'info')).toEqual(
        [],
      )
    const { results } = verify.verifyLedger(payloads.join('\n'))
    expect(results.every((one) => one.ok)).toBe(true)
    const [first] = all
    if (first === undefined) throw new Error('no samples')
    const good = await verify.verifyStatement(cose(first), { keys: [key] })
    expect(good.ok).toBe(true)
    const bad = cose(first)
    bad[bad.length - 1] = (bad[bad.length - 1] ?? 0) ^ 1
    expect((await verify.verifyStatement(bad, { keys: [key] })).ok).toBe(false)
  })

  it('refuses text that is no JSON as a value, also here', () => {
    expect(verify.verifyCapsule('{"a":1,"a":2}').ok).toBe(false)
    expect(verify.verifyCapsule(new Uint8Array([0xff])).derived).toBeNull()
  })
})

describe('dist/cps.js and dist/capseal.js without Node', () => {
  it('make, seal and verify', async () => {
    const cps = await entry<typeof import('../src/cps.js')>('cps.js')
    const ours = signer()
    const built = cps.buildCps(parts(0, null))
    if (!built.ok) throw new Error(built.code)
    const sealed = cps.sealCps(built.canonical, ours, AT)
    if (!sealed.ok) throw new Error(sealed.code)
    const keys = [{ publicKey: ours.publicKey }]
    expect(cps.verifyCpsChain([sealed.json], { keys })).toMatchObject({ ok: true, length: 1 })
    const changed = sealed.json.replace('step 0', 'step 1')
    expect(cps.verifyCpsChain([changed], { keys })).toMatchObject({ ok: false })
    expect([...loaded.keys()].some((file) => file.includes('adapters'))).toBe(false)
  })

  it('hash receipts', async () => {
    const capseal = await entry<typeof import('../src/capseal.js')>('capseal.js')
    expect(capseal.payloadHash('"a"')).toMatchObject({ ok: true })
    expect(capseal.verifyReceipts('{')).toMatchObject({ ok: false })
  })
})

describe('dist/capsule.js without Node', () => {
  it('loads and digests, with a writer of its own', async () => {
    const capsule = await entry<typeof import('../src/capsule.js')>('capsule.js')
    expect(specifiers).not.toContain('canonicalize')
    expect(capsule.canonicalOf({ b: 1, a: 'ä' })).toBe('{"a":"ä","b":1}')
  })
})
