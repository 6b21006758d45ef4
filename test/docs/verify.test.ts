import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import { jsonDigest } from '../../src/core/json/build.js'
import { journalOf } from '../cli/support.js'
import { sampleCapsule } from '../core/statement/sample.js'
import { missingCommand, missingOpenssl, needs } from '../support/needs.js'
import { journalKeys } from '../support/sealed-journal.js'

/** docs/verify.md is run as it stands: an auditor with openssl, sha256sum and node, and nothing of ours. */
const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'verify.md'), 'utf8')
const missing = missingOpenssl() ?? missingCommand('sha256sum') ?? missingCommand('bash')
const blocks = (language: string): Map<string, string> =>
  new Map(
    [...PAGE.matchAll(/```(\w+)\n(?:#|\/\/) ([\w.-]+)\n([\s\S]*?)```/g)]
      .filter(([, found]) => found === language)
      .map(([, , name, text]) => [name as string, text as string]),
  )

const BODY = '{ "status": "succeeded", "note": null, "refund": {"id": "re_1", "lines": []} }'
const octets = {
  alg: 'sha-256',
  digest: createHash('sha256').update(BODY).digest('hex'),
  length: BODY.length,
  content_type: 'application/json',
  status: 200,
  complete: true,
} as const
const capsule = sampleCapsule({
  developer: 'support-bot é 😀',
  effect: {
    type: 'dev.example.refund',
    status: 'confirmed',
    irreversibility_class: 'one_way_consequential',
    effect_attestation: 'gate_executed',
    response_digest: jsonDigest(JSON.parse(BODY), nodeCrypto),
    'dev.capsulegate.response_octets': octets,
    'dev.capsulegate.response_binding': 'json',
  },
  chain: { parent_capsule_id: 'a'.repeat(64), relation: 'supersedes' },
})

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'capsule-gate-docs-'))
  const keys = journalKeys()
  const keyring = { keys: [keys.event.record, keys.statement.record] }
  writeFileSync(join(dir, 'keyring.json'), JSON.stringify(keyring))
  writeFileSync(join(dir, 'journal.jsonl'), journalOf([capsule], keys).text())
  writeFileSync(join(dir, 'response.body'), BODY)
  for (const [name, text] of blocks('js')) writeFileSync(join(dir, name), text)
})
afterEach(() => rm(dir, { recursive: true, force: true }))

function shell(name: string): { status: number | null; lines: string[] } {
  const script = blocks('sh').get(name)
  if (script === undefined) throw new Error(`docs/verify.md has no block named ${name}`)
  const ran = spawnSync('bash', ['-euo', 'pipefail', '-c', script], { cwd: dir, encoding: 'utf8' })
  return { status: ran.status, lines: ran.stdout.trimEnd().split('\n') }
}
/** Computed on the first line, recorded in quotes on the second. */
const compared = (name: string): boolean => {
  const { status, lines } = shell(name)
  const [computed, recorded] = lines
  expect({ name, status, count: lines.length }).toEqual({ name, status: 0, count: 2 })
  expect(computed).toMatch(/^[0-9a-f]{64}$/)
  return recorded?.endsWith(`:"${computed}"`) === true
}

describe('docs/verify.md by hand', () => {
  const { it: runs } = needs(missing)

  runs('every comparison holds for a real journal, and the signature verifies', () => {
    expect(compared('link')).toBe(true)
    expect(shell('head')).toEqual({ status: 0, lines: ['Signature Verified Successfully'] })
    expect(shell('counts')).toEqual({ status: 0, lines: ['2', '1', '"lines":2,"capsules":1'] })
    shell('pick')
    const { status, lines } = shell('signature')
    expect({ status, lines }).toEqual({ status: 0, lines: ['Signature Verified Successfully'] })
    expect(compared('capsule-id')).toBe(true)
    expect(compared('json-binding')).toBe(true)
    expect(compared('octets-binding')).toBe(true)
  })

  runs('each comparison fails when what it is about was changed', () => {
    const journal = join(dir, 'journal.jsonl')
    const text = readFileSync(journal, 'utf8')
    writeFileSync(journal, text.replace('"bot@1"', '"bot@2"'))
    expect(compared('link')).toBe(false)
    for (const [was, is] of [
      ['"capsules":1', '"capsules":2'],
      ['"seq":3,', '"seq":4,'],
    ] as const) {
      writeFileSync(journal, text.replace(was, is))
      expect([was, shell('head').status]).not.toEqual([was, 0])
    }
    writeFileSync(journal, text.replaceAll('"acme"', '"evil"'))
    shell('pick')
    expect(shell('signature').status).not.toBe(0)
    expect(compared('capsule-id')).toBe(false)
    writeFileSync(join(dir, 'response.body'), BODY.replace('re_1', 're_2'))
    expect(compared('json-binding')).toBe(false)
    expect(compared('octets-binding')).toBe(false)
  })

  runs('the signature covers the chain, which the id does not', () => {
    const journal = join(dir, 'journal.jsonl')
    writeFileSync(journal, readFileSync(journal, 'utf8').replace('a'.repeat(64), 'b'.repeat(64)))
    shell('pick')
    expect(compared('capsule-id')).toBe(true)
    expect(shell('signature').status).not.toBe(0)
  })

  it('keeps every script at twenty lines or fewer, without dependencies', () => {
    const scripts = [...blocks('js').values()]
    expect(scripts).toHaveLength(4)
    for (const script of scripts) {
      expect(script.trimEnd().split('\n').length).toBeLessThanOrEqual(20)
      expect([...script.matchAll(/from '([^']+)'/g)].map(([, name]) => name)).toEqual(['node:fs'])
    }
  })
})
