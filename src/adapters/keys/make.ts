import { generateKeyPairSync } from 'node:crypto'
import { hex } from '../../core/bytes/hex.js'
import { thumbprint } from '../../core/statement/keys.js'
import type { SigningPurpose } from '../../ports/signer.js'
import { nodeCrypto } from '../crypto-node.js'
import { replaceFileSync } from '../disk/replace-file.js'
import { type OwnKey, privatePath } from './keyring.js'

/** A seam per durable step, so that a test can end the process exactly there. */
export type KeyStep =
  | 'private_temporary'
  | 'private_written'
  | 'keyring_temporary'
  | 'keyring_written'
  | 'private_overwritten'
  | 'private_destroyed'
export type KeyOptions = {
  readonly now?: () => number
  readonly onStep?: (step: KeyStep) => void
}

export const ED25519_SPKI_HEAD = 12

/** The private half is durable before any keyring names the public one. */
export function makeKey(
  dir: string,
  purpose: SigningPurpose,
  epoch: number,
  validFrom: string,
  onStep: (step: KeyStep) => void,
): OwnKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(ED25519_SPKI_HEAD)
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
  replaceFileSync(privatePath(dir, { purpose, epoch }), pem.toString(), 0o600, () =>
    onStep('private_temporary'),
  )
  onStep('private_written')
  return {
    kid: hex(thumbprint('ed25519', raw, nodeCrypto)),
    alg: -8,
    public_key: hex(raw),
    purpose,
    status: 'active',
    epoch,
    valid_from: validFrom,
  }
}
