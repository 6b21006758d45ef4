import { chmodSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { parseKeyring } from '../../src/core/statement/keys.js'
import { signer } from '../core/cps/made.js'
import { cli } from './support.js'

let root: string
let dir: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'capsule-gate-cli-'))
  dir = join(root, 'keys')
})
afterEach(() => rm(root, { recursive: true, force: true }))

describe('capsule-gate keys', () => {
  it('creates, lists, rotates and exports; the export is a keyring and holds no private key', async () => {
    const created = await cli(['keys', 'create', '--dir', dir, '--json'])
    expect(created).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(created.out).keys).toHaveLength(3)
    const rotated = await cli(['keys', 'rotate', '--dir', dir])
    expect(rotated.code).toBe(0)
    expect(rotated.out).toMatch(/statement +epoch 1 +retired/)
    expect(rotated.out).toMatch(/statement +epoch 2 +active/)
    const exported = await cli(['keys', 'export', '--dir', dir])
    const read = parseKeyring(exported.out)
    expect(read).toMatchObject({ ok: true })
    expect(read.ok && read.keys.map((key) => `${key.purpose} ${key.status}`).sort()).toEqual([
      'event active',
      'statement active',
      'statement retired',
      'webhook active',
    ])
    const secret = readFileSync(join(dir, 'event-1.key'), 'utf8').split('\n')[1] as string
    const listed = await cli(['keys', 'list', '--dir', dir])
    for (const { out } of [created, rotated, exported, listed]) expect(out).not.toContain(secret)
  })

  it('adds the key of capsule chains where it is wanted, rotates it, and knows those of others', async () => {
    await cli(['keys', 'create', '--dir', dir])
    const added = await cli(['keys', 'add', '--dir', dir, '--json'])
    expect(added).toMatchObject({ code: 0, err: '' })
    const [{ purpose, epoch, public_key }] = JSON.parse(added.out).keys
    expect([purpose, epoch]).toEqual(['cps', 1])
    expect((await cli(['keys', 'add', '--dir', dir])).err).toMatch(/has a cps key: rotate it/)
    const rotated = await cli(['keys', 'rotate', '--purpose', 'cps', '--dir', dir])
    expect(rotated.out).toMatch(/cps +epoch 1 +retired/)

    const known = ['keys', 'known', 'add', '--dir', dir]
    const other = signer().publicKey
    expect((await cli([...known, other])).out).toBe(`${other.slice(0, 16)} added\n`)
    expect((await cli([...known, other])).out).toBe(`${other.slice(0, 16)} was known\n`)
    expect((await cli([...known, public_key])).out).toMatch(/was known/)
    expect(await cli([...known, 'zz'])).toMatchObject({ code: 2 })
    expect((await cli(['keys', 'known', 'ls', '--dir', dir])).out).toContain(other)
    const gone = ['keys', 'known', 'rm', other.slice(0, 16), '--dir', dir]
    expect((await cli(gone)).code).toBe(0)
    expect((await cli(gone)).code).toBe(2)
    expect((await cli(['keys', 'known', 'ls', '--dir', dir])).out).not.toContain(other)
  })

  it('says what is wrong on stderr and exits 1: no keys, keys already, directory open to others', async () => {
    expect(await cli(['keys', 'list', '--dir', dir])).toMatchObject({ code: 1, out: '' })
    await cli(['keys', 'create', '--dir', dir])
    const again = await cli(['keys', 'create', '--dir', dir])
    expect(again).toMatchObject({ code: 1, out: '' })
    expect(again.err).toMatch(/keyring\.json exists: rotate/)
    chmodSync(dir, 0o777)
    expect((await cli(['keys', 'rotate', '--dir', dir])).err).toContain(`chmod 700 ${dir}`)
  })

  it('exits 2 on a mistaken command line, 0 on help', async () => {
    expect((await cli(['keys', 'rotate', '--dir', dir, '--purpose', 'log'])).code).toBe(2)
    expect((await cli(['keys', 'melt'])).code).toBe(2)
    expect((await cli(['melt'])).code).toBe(2)
    expect((await cli(['keys', '--help'])).code).toBe(0)
    expect((await cli(['--version'])).out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })
})
