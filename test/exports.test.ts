import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'

/** The package as its users import it: built, by its own name, nothing beside the entries. */
const ROOT = join(import.meta.dirname, '..')
const { exports: entries } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  exports: Record<string, string | { types: string; default: string }>
}

function run(script: string): { status: number | null; stdout: string; stderr: string } {
  return spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    cwd: ROOT,
    encoding: 'utf8',
  })
}
const names = (specifier: string): string[] => {
  const { stdout, stderr } = run(
    `console.log(JSON.stringify(Object.keys(await import('${specifier}')).sort()))`,
  )
  if (stdout === '') throw new Error(stderr)
  return JSON.parse(stdout) as string[]
}

describe('entries', () => {
  it.each(Object.entries(entries))('%s is there, with its types', (_, entry) => {
    const files = typeof entry === 'string' ? [entry] : Object.values(entry)
    for (const file of files) expect(existsSync(join(ROOT, file))).toBe(true)
  })

  it('capsule-gate gives what a program needs', () => {
    expect(names('capsule-gate')).toEqual(['GateError', 'GateRefusal', 'createGate', 'loadConfig'])
  })

  it('capsule-gate/express gives the middleware and the proxy', () => {
    expect(names('capsule-gate/express')).toEqual(['gate', 'governedProxy'])
  })

  it('capsule-gate/capsule gives the builder, and neither constructor of trust', () => {
    expect(names('capsule-gate/capsule')).toEqual([
      'CHAIN_RELATIONS',
      'DECISIONS',
      'EFFECT_ATTESTATIONS',
      'EFFECT_TYPES',
      'FORMAT_VERSION',
      'IRREVERSIBILITY_CLASSES',
      'NEVER_DISPATCH',
      'OPEN_CLASSES',
      'SPEC_VERSION',
      'VERDICT_CLASSES',
      'buildCapsule',
      'buildOutcome',
      'canonicalOf',
      'jsonDigest',
      'jsonDigestOf',
      'normalize',
      'parse',
      'payloadOf',
    ])
  })

  it('capsule-gate/cps and capsule-gate/capseal give what makes and verifies other capsules', () => {
    expect(names('capsule-gate/cps')).toEqual([
      'buildCps',
      'cpsCanonical',
      'fromDict',
      'parseCapsuleUri',
      'sealCps',
      'validateCps',
      'verifyBundle',
      'verifyCps',
      'verifyCpsChain',
    ])
    expect(names('capsule-gate/capseal')).toEqual(['payloadHash', 'receiptOf', 'verifyReceipts'])
  })

  it.each([
    'capsule-gate/dist/index.js',
    'capsule-gate/core/capsule/observation',
    'capsule-gate/dist/core/capsule/observation.js',
    'capsule-gate/gate',
  ])('%s is nobody’s to import', (inside) => {
    const { status, stderr } = run(`await import('${inside}')`)
    expect(status).not.toBe(0)
    expect(stderr).toContain('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })

  it('declarations of the express entry need no types but Node’s', () => {
    const mount = join('mounts', 'express')
    const declarations = readdirSync(join(ROOT, 'dist', mount)).filter((f) => f.endsWith('.d.ts'))
    const foreign = ['express.d.ts', join('app', 'express.d.ts')]
      .concat(declarations.map((file) => join(mount, file)))
      .flatMap((file) =>
        [...readFileSync(join(ROOT, 'dist', file), 'utf8').matchAll(/from '([^.'][^']*)'/g)].map(
          ([, from]) => from,
        ),
      )
      .filter((from) => from?.startsWith('node:') !== true)
    expect(foreign).toEqual([])
  })
})

describe('examples run, assert and exit 0', () => {
  it.each(['middleware', 'composed-proxy', 'govern-function'])('%s', (name) => {
    const { status, stderr } = spawnSync(process.execPath, [join('examples', name, 'run.mjs')], {
      cwd: ROOT,
      encoding: 'utf8',
    })
    expect(stderr).toBe('')
    expect(status).toBe(0)
  })
})
