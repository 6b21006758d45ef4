import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { hex } from '../../core/bytes/hex.js'
import { GateError } from '../../core/error.js'
import { thumbprint } from '../../core/statement/keys.js'
import { nodeCrypto } from '../crypto-node.js'
import { existsSync } from '../disk/files.js'
import { makeFolder } from '../disk/folder.js'
import { replaceFileSync } from '../disk/replace-file.js'
import { exclusively, refuseOpenDirectory } from './files.js'
import {
  destroyRemnants,
  type KeyStep,
  keyringPath,
  type OwnKey,
  type OwnPurpose,
  PURPOSES,
  privatePath,
  writeKeyring,
} from './keyring.js'

export type KeyOptions = {
  readonly now?: () => number
  readonly onStep?: (step: KeyStep) => void
}

/** One key per purpose, epoch 1. Keys are there from the moment the keyring has its name. */
export async function createKeys(
  dir: string,
  options: KeyOptions = {},
): Promise<readonly OwnKey[]> {
  const { now = Date.now, onStep = () => {} } = options
  makeFolder(dir)
  refuseOpenDirectory(dir)
  return exclusively(dir, () => {
    if (existsSync(keyringPath(dir))) {
      throw new GateError('exists', `${keyringPath(dir)} exists: rotate instead of creating again`)
    }
    destroyRemnants(dir, [])
    const validFrom = new Date(now()).toISOString()
    const keys = PURPOSES.map((purpose) => makeKey(dir, purpose, 1, validFrom, onStep))
    writeKeyring(dir, keys, onStep)
    return keys
  })
}

/** The private half is durable before any keyring names the public one. */
export function makeKey(
  dir: string,
  purpose: OwnPurpose,
  epoch: number,
  valid_from: string,
  onStep: (step: KeyStep) => void,
): OwnKey {
  const { privateKey } = generateKeyPairSync('ed25519')
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
  replaceFileSync(privatePath(dir, { purpose, epoch }), pem.toString(), 0o600, () =>
    onStep('private_temporary'),
  )
  onStep('private_written')
  const { kid, public_key } = publicHalf(privateKey)
  return { kid, alg: -8, public_key, purpose, status: 'active', epoch, valid_from }
}

const ED25519_SPKI_HEAD = 12

export function publicHalf(key: KeyObject): Pick<OwnKey, 'kid' | 'public_key'> {
  const der = createPublicKey(key).export({ format: 'der', type: 'spki' })
  const raw = der.subarray(ED25519_SPKI_HEAD)
  return { kid: hex(thumbprint('ed25519', raw, nodeCrypto)), public_key: hex(raw) }
}
