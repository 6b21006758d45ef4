import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { addCpsKey } from '../../../src/adapters/keys/add.js'
import { openCpsSigner } from '../../../src/adapters/keys/cps-signer.js'
import { createKeys } from '../../../src/adapters/keys/create.js'
import { exclusively } from '../../../src/adapters/keys/files.js'
import { exportKeyring, type KeyStep, listKeys } from '../../../src/adapters/keys/keyring.js'
import { rotateKeys } from '../../../src/adapters/keys/rotate.js'
import { openSigner } from '../../../src/adapters/keys/signer.js'
import { hex } from '../../../src/core/bytes/hex.js'
import { parseKeyring } from '../../../src/core/statement/keys.js'
import { toCose } from '../../../src/core/statement/sign1.js'
import { verifySign1 } from '../../../src/core/statement/verify-sign1.js'
import { verifyCps } from '../../../src/cps.js'
import type { Signer } from '../../../src/ports/signer.js'
import { chainOf } from '../../core/cps/made.js'
import { sampleCapsule } from '../../core/statement/sample.js'
import { signCapsule } from '../../core/statement/sign-capsule.js'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const message = new TextEncoder().encode('message')
let root: string
let dir: string

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'capsule-gate-keys-'))
  dir = join(root, 'keys')
})
afterEach(async () => {
  await rm(root, { recursive: true, force: true })
})

const privateFiles = (): string[] =>
  readdirSync(dir)
    .filter((name) => name !== 'keyring.json')
    .sort()
const sealed = (signer: Signer): Uint8Array => {
  const kid = signer.kid('statement')
  const made = signCapsule(sampleCapsule(), {
    statement: 'agent_action',
    kid,
    sign: (bytes) => signer.sign('statement', bytes),
  })
  return toCose(new TextEncoder().encode(made.payload), made.protectedBytes, made.signature)
}
const verdict = (cose: Uint8Array): string | null =>
  verifySign1(cose, { keys: exportKeyring(dir).keys, crypto: nodeCrypto }).code

describe('addCpsKey', () => {
  it('makes the key once, beside those of an older keyring, and a private half for the owner', async () => {
    await createKeys(dir)
    const before = listKeys(dir)
    const both = await Promise.allSettled([addCpsKey(dir), addCpsKey(dir)])
    expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(listKeys(dir).filter(({ purpose }) => purpose !== 'cps')).toEqual(before)
    expect(statSync(join(dir, 'cps-1.key')).mode & 0o777).toBe(0o600)
    expect(openSigner(dir).kid('event')).toHaveLength(32)
  })

  it('seals with the active key; what an earlier one sealed stays its own', async () => {
    await createKeys(dir)
    await addCpsKey(dir)
    const chain = [openCpsSigner(dir)]
    const { retired } = await rotateKeys(dir, 'cps')
    chain.push(openCpsSigner(dir))
    const texts = chain.map((by, index) => chainOf(1, by, { domain: `d${index}` })[0])
    const keys = listKeys(dir)
      .filter(({ purpose }) => purpose === 'cps')
      .map(({ public_key: publicKey }) => ({ publicKey }))
    for (const text of texts) {
      expect(verifyCps(JSON.stringify(text), { keys, crypto: nodeCrypto })).toMatchObject({
        ok: true,
      })
    }
    expect(texts[0]?.signed_by).toBe(retired.public_key.slice(0, 16))
    expect(privateFiles()).not.toContain('cps-1.key')
  })

  it.each<KeyStep>(['private_temporary', 'private_written', 'keyring_temporary'])(
    'stopped at %s leaves the keyring as it was, and is done by the next',
    async (at) => {
      await createKeys(dir)
      const onStep = (step: KeyStep): void => {
        if (step === at) throw new Error('stopped')
      }
      await expect(addCpsKey(dir, { onStep })).rejects.toThrow('stopped')
      expect(listKeys(dir).some(({ purpose }) => purpose === 'cps')).toBe(false)
      expect((await addCpsKey(dir)).epoch).toBe(1)
    },
  )
})

describe('createKeys', () => {
  it('makes one active key per purpose, private halves for the owner only, and a public keyring', async () => {
    await createKeys(dir, { now: () => Date.parse('2026-10-01T00:00:00Z') })
    expect(privateFiles()).toEqual(['event-1.key', 'statement-1.key', 'webhook-1.key'])
    for (const name of privateFiles()) expect(statSync(join(dir, name)).mode & 0o777).toBe(0o600)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
    const text = readFileSync(join(dir, 'keyring.json'), 'utf8')
    expect(text).not.toMatch(/PRIVATE/)
    expect(parseKeyring(text)).toMatchObject({ ok: true })
    expect(listKeys(dir)).toMatchObject([
      {
        purpose: 'statement',
        status: 'active',
        epoch: 1,
        alg: -8,
        valid_from: '2026-10-01T00:00:00.000Z',
      },
      { purpose: 'event', status: 'active', epoch: 1 },
      { purpose: 'webhook', status: 'active', epoch: 1 },
    ])
  })

  it('refuses a directory that has keys, and leaves them as they are', async () => {
    await createKeys(dir)
    const before = readFileSync(join(dir, 'statement-1.key'))
    await expect(createKeys(dir)).rejects.toThrow(/exists: rotate/)
    expect(readFileSync(join(dir, 'statement-1.key'))).toEqual(before)
  })

  it('refuses a directory that others may write to, naming the command', async () => {
    chmodSync(root, 0o777)
    await expect(createKeys(root)).rejects.toThrow(`run  chmod 700 ${root}`)
  })

  it('of two at once on one directory lets one win, and the other says why', async () => {
    const outcomes = await Promise.allSettled([createKeys(dir), createKeys(dir)])
    expect(outcomes.map((o) => o.status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(() => openSigner(dir)).not.toThrow()
  })
})

describe('openSigner', () => {
  it('signs what verifies under the exported keyring; each purpose has its own key', async () => {
    await createKeys(dir)
    const signer = openSigner(dir)
    expect(verdict(sealed(signer))).toBe(null)
    const kids = (['statement', 'event', 'webhook'] as const).map((p) => hex(signer.kid(p)))
    expect(new Set(kids).size).toBe(3)
    const event = exportKeyring(dir).keys.find((key) => key.purpose === 'event')
    const publicKey = Buffer.from(event?.public_key ?? '', 'hex')
    expect(nodeCrypto.verifyEd25519(publicKey, message, signer.sign('event', message))).toBe(true)
    expect(nodeCrypto.verifyEd25519(publicKey, message, signer.sign('webhook', message))).toBe(
      false,
    )
  })

  it.each([0o640, 0o604, 0o644, 0o620])(
    'refuses a private key of mode %o, naming file and command',
    async (mode) => {
      await createKeys(dir)
      const path = join(dir, 'event-1.key')
      chmodSync(path, mode)
      expect(() => openSigner(dir)).toThrow(`run  chmod 600 ${path}`)
      chmodSync(path, 0o600)
      expect(() => openSigner(dir)).not.toThrow()
    },
  )

  it('refuses a directory that others may write to', async () => {
    await createKeys(dir)
    chmodSync(dir, 0o770)
    expect(() => openSigner(dir)).toThrow(`run  chmod 700 ${dir}`)
  })

  it('refuses a link in place of a private key', async () => {
    await createKeys(dir)
    await rename(join(dir, 'event-1.key'), join(root, 'elsewhere'))
    symlinkSync(join(root, 'elsewhere'), join(dir, 'event-1.key'))
    expect(() => openSigner(dir)).toThrow(/ELOOP/)
  })

  it("refuses another key's private half, a truncated one and an absent one", async () => {
    await createKeys(dir)
    const path = join(dir, 'statement-1.key')
    writeFileSync(path, readFileSync(join(dir, 'event-1.key')))
    expect(() => openSigner(dir)).toThrow(/is not the private half of key/)
    writeFileSync(path, '-----BEGIN PRIVATE KEY-----\n')
    expect(() => openSigner(dir)).toThrow(/holds no Ed25519 private key/)
    await rm(path)
    expect(() => openSigner(dir)).toThrow(/statement-1\.key is missing/)
  })

  it('refuses a keyring that is absent, damaged, or has two active keys of a purpose', async () => {
    expect(() => openSigner(dir)).toThrow(/key directory .* is missing/)
    await createKeys(dir)
    const path = join(dir, 'keyring.json')
    const text = readFileSync(path, 'utf8')
    writeFileSync(path, text.slice(0, -10))
    expect(() => openSigner(dir)).toThrow(/keyring\.json: \$ JSON syntax at offset/)
    writeFileSync(path, text.replace('"purpose": "event"', '"purpose": "statement"'))
    expect(() => openSigner(dir)).toThrow(/not exactly one active statement key/)
  })
})

describe('rotateKeys', () => {
  it('retires one purpose: old statements verify, the private half is gone, others stay', async () => {
    await createKeys(dir, { now: () => Date.parse('2026-10-01T00:00:00Z') })
    const before = sealed(openSigner(dir))
    const oldPath = join(dir, 'statement-1.key')
    const { retired, active } = await rotateKeys(dir, 'statement', {
      now: () => Date.parse('2026-11-01T00:00:00Z'),
    })
    expect(retired).toMatchObject({
      epoch: 1,
      status: 'retired',
      valid_to: '2026-11-01T00:00:00.000Z',
    })
    expect(active).toMatchObject({
      epoch: 2,
      status: 'active',
      valid_from: '2026-11-01T00:00:00.000Z',
    })
    expect(existsSync(oldPath)).toBe(false)
    expect(privateFiles()).toEqual(['event-1.key', 'statement-2.key', 'webhook-1.key'])
    expect(verdict(before)).toBe(null)
    const after = sealed(openSigner(dir))
    expect(verdict(after)).toBe(null)
    expect(verifySign1(after, { keys: exportKeyring(dir).keys, crypto: nodeCrypto }).kid).toBe(
      active.kid,
    )
  })

  it('overwrites the bytes before it unlinks them', async () => {
    await createKeys(dir)
    const path = join(dir, 'statement-1.key')
    const secret = readFileSync(path, 'utf8')
    let seen = ''
    await rotateKeys(dir, 'statement', {
      onStep: (step) => {
        if (step === 'private_overwritten') seen = readFileSync(path, 'latin1')
      },
    })
    expect(seen).toHaveLength(secret.length)
    expect(seen).not.toContain('PRIVATE KEY')
  })

  it('does not begin an epoch before the last one when the clock was set back', async () => {
    await createKeys(dir, { now: () => Date.parse('2026-10-01T00:00:00Z') })
    const { active } = await rotateKeys(dir, 'event', { now: () => 0 })
    expect(active.valid_from).toBe('2026-10-01T00:00:00.000Z')
  })

  it('refuses while another writer holds the directory', async () => {
    await createKeys(dir)
    let inner: Promise<unknown> = Promise.resolve()
    await exclusively(dir, () => {
      inner = expect(rotateKeys(dir, 'statement')).rejects.toThrow(/is held by/)
    })
    await inner
    expect(listKeys(dir)).toHaveLength(3)
  })

  it('is seen by a signer that is open: kid moves on, and a bare sign refuses the retired key', async () => {
    await createKeys(dir)
    const signer = openSigner(dir)
    const cached = hex(signer.kid('event'))
    signer.sign('event', message)
    const { active } = await rotateKeys(dir, 'event')
    expect(() => signer.sign('event', message)).toThrow(`the event key ${cached} was retired`)
    expect(hex(signer.kid('event'))).toBe(active.kid)
    expect(() => signer.sign('event', message)).not.toThrow()
    expect(verdict(sealed(signer))).toBe(null)
  })

  it('cannot come between a kid and its signature', async () => {
    await createKeys(dir)
    const signer = openSigner(dir)
    const kid = signer.kid('statement')
    await rotateKeys(dir, 'statement')
    const made = signCapsule(sampleCapsule(), {
      statement: 'agent_action',
      kid,
      sign: (bytes) => signer.sign('statement', bytes),
    })
    const cose = toCose(new TextEncoder().encode(made.payload), made.protectedBytes, made.signature)
    expect(verdict(cose)).toBe(null)
  })

  it('makes an open signer stop, not sign, when the keyring is lost', async () => {
    await createKeys(dir)
    const signer = openSigner(dir)
    await rm(join(dir, 'keyring.json'))
    expect(() => signer.kid('statement')).toThrow(/ENOENT/)
  })
})

/** The process ends itself by SIGKILL at a named durable step; nothing after it runs. */
async function killedAt(step: KeyStep, occurrence: number, call: string): Promise<void> {
  const script = `
    import { createKeys } from '${ROOT}/dist/adapters/keys/create.js'
    import { rotateKeys } from '${ROOT}/dist/adapters/keys/rotate.js'
    let left = ${occurrence}
    const onStep = (step) => { if (step === '${step}' && --left === 0) process.kill(process.pid, 'SIGKILL') }
    await ${call}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'inherit' })
  const [, signal] = await once(child, 'exit')
  expect(signal).toBe('SIGKILL')
}

describe('kill -9', () => {
  it.each<[KeyStep, number]>([
    ['private_temporary', 1],
    ['private_written', 2],
    ['keyring_temporary', 1],
  ])('during create at %s (%i): no keys, and creating again works', async (step, occurrence) => {
    await killedAt(step, occurrence, `createKeys('${dir}', { onStep })`)
    expect(() => openSigner(dir)).toThrow(/keyring\.json is missing/)
    await createKeys(dir)
    expect(privateFiles()).toEqual(['event-1.key', 'statement-1.key', 'webhook-1.key'])
    expect(verdict(sealed(openSigner(dir)))).toBe(null)
  })

  it('during create after the keyring has its name: the keys are there', async () => {
    await killedAt('keyring_written', 1, `createKeys('${dir}', { onStep })`)
    expect(verdict(sealed(openSigner(dir)))).toBe(null)
  })

  it.each<KeyStep>(['private_temporary', 'private_written', 'keyring_temporary'])(
    'during rotate at %s: the old key signs on, and the next rotation leaves no remnant',
    async (step) => {
      const [old] = await createKeys(dir)
      await killedAt(step, 1, `rotateKeys('${dir}', 'statement', { onStep })`)
      expect(hex(openSigner(dir).kid('statement'))).toBe(old?.kid)
      expect(verdict(sealed(openSigner(dir)))).toBe(null)
      await rotateKeys(dir, 'statement')
      expect(privateFiles()).toEqual(['event-1.key', 'statement-2.key', 'webhook-1.key'])
    },
  )

  it.each<KeyStep>(['keyring_written', 'private_overwritten', 'private_destroyed'])(
    'during rotate at %s: the new key signs, and opening destroys what is left of the old one',
    async (step) => {
      const [old] = await createKeys(dir)
      const before = sealed(openSigner(dir))
      await killedAt(step, 1, `rotateKeys('${dir}', 'statement', { onStep })`)
      const signer = openSigner(dir)
      expect(hex(signer.kid('statement'))).not.toBe(old?.kid)
      expect(verdict(sealed(signer))).toBe(null)
      expect(verdict(before)).toBe(null)
      expect(privateFiles()).toEqual(['event-1.key', 'statement-2.key', 'webhook-1.key'])
    },
  )
})
