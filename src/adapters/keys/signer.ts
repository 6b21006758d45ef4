import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { fromHex, hex } from '../../core/bytes/hex.js'
import { GateError } from '../../core/error.js'
import type { Signer, SigningPurpose } from '../../ports/signer.js'
import { statSync } from '../disk/files.js'
import { publicHalf } from './create.js'
import { destroy, readPrivate, refuseOpenDirectory } from './files.js'
import { activeKey, keyringPath, listKeys, type OwnKey, PURPOSES, privatePath } from './keyring.js'

type Held = {
  readonly stamp: string
  readonly kid: Uint8Array
  readonly key: KeyObject
  /** True from `kid` to the next `sign`: the caller wrote this kid down just now. */
  named: boolean
}

/**
 * Signs with the active key of each purpose and notices a rotation by another process. `kid` moves to
 * the new key; a `sign` that follows it, in the same tick, uses exactly the key it named, so that no
 * rotation can come between a header and its signature. A `sign` on its own refuses a retired key.
 */
export function openSigner(dir: string): Signer {
  refuseOpenDirectory(dir)
  const keys = listKeys(dir)
  // A crash between the keyring and the destruction leaves a retired private key behind.
  for (const key of keys) if (key.status === 'retired') destroy(privatePath(dir, key))
  const held = new Map(PURPOSES.map((purpose) => [purpose, load(dir, purpose)]))

  const current = (purpose: SigningPurpose): Held => {
    const known = held.get(purpose)
    if (known?.stamp === stampOf(dir)) return known
    const fresh = load(dir, purpose)
    // Another purpose was rotated: the key is the same one.
    const same = known !== undefined && hex(known.kid) === hex(fresh.kid)
    const next = same ? { ...known, stamp: fresh.stamp } : fresh
    held.set(purpose, next)
    return next
  }
  return {
    kid(purpose) {
      const key = current(purpose)
      key.named = true
      return key.kid
    },
    sign(purpose, message) {
      const before = held.get(purpose)
      const key = before?.named === true ? before : current(purpose)
      if (before !== undefined && before !== key && hex(before.kid) !== hex(key.kid)) {
        throw new GateError('missing', `the ${purpose} key ${hex(before.kid)} was retired`)
      }
      key.named = false
      return sign(null, message, key.key)
    },
  }
}

/** Every write of the keyring is a new inode and a new time. */
function stampOf(dir: string): string {
  const { ino, mtimeNs, ctimeNs, size } = statSync(keyringPath(dir), { bigint: true })
  return `${ino} ${mtimeNs} ${ctimeNs} ${size}`
}

function load(dir: string, purpose: SigningPurpose): Held {
  for (;;) {
    // The stamp is taken first: a rotation during the reading is seen, here or at the next check.
    const stamp = stampOf(dir)
    try {
      return { stamp, ...privateHalf(dir, activeKey(listKeys(dir), purpose)), named: false }
    } catch (error) {
      if (stampOf(dir) === stamp) throw error
    }
  }
}

export function privateHalf(dir: string, record: OwnKey): Pick<Held, 'kid' | 'key'> {
  const path = privatePath(dir, record)
  const key = parsed(readPrivate(path), path)
  const half = publicHalf(key)
  const kid = fromHex(record.kid)
  if (kid === null || half.kid !== record.kid || half.public_key !== record.public_key) {
    throw new GateError('damaged', `${path} is not the private half of key ${record.kid}`)
  }
  return { kid, key }
}

function parsed(pem: string, path: string): KeyObject {
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {}
  throw new GateError('damaged', `${path} holds no Ed25519 private key`)
}
