import { type KeyOptions, makeKey } from './create.js'
import { destroy, exclusively, refuseOpenDirectory } from './files.js'
import {
  activeKey,
  destroyRemnants,
  listKeys,
  type OwnKey,
  type OwnPurpose,
  privatePath,
  writeKeyring,
} from './keyring.js'

export type Rotated = { readonly retired: OwnKey; readonly active: OwnKey }

/**
 * A new epoch: the public half of the old key stays for verifiers, its private half is destroyed. The
 * rename of the keyring is the turning point; what a crash leaves on either side of it is removed by
 * the next rotation or, for a retired key, when the directory is opened to sign.
 */
export async function rotateKeys(
  dir: string,
  purpose: OwnPurpose,
  options: KeyOptions = {},
): Promise<Rotated> {
  const { now = Date.now, onStep = () => {} } = options
  refuseOpenDirectory(dir)
  listKeys(dir)
  return exclusively(dir, () => {
    const keys = listKeys(dir)
    destroyRemnants(dir, keys)
    const old = activeKey(keys, purpose)
    // A clock set back must not make the new epoch begin before the old one.
    const at = new Date(Math.max(now(), Date.parse(old.valid_from))).toISOString()
    const active = makeKey(dir, purpose, old.epoch + 1, at, onStep)
    const retired: OwnKey = { ...old, status: 'retired', valid_to: at }
    const others = keys.filter((key) => key !== old)
    writeKeyring(dir, [...others, retired, active].sort(byPurposeAndEpoch), onStep)
    destroy(privatePath(dir, old), () => onStep('private_overwritten'))
    onStep('private_destroyed')
    return { retired, active }
  })
}

const byPurposeAndEpoch = (a: OwnKey, b: OwnKey): number =>
  a.purpose === b.purpose ? a.epoch - b.epoch : a.purpose < b.purpose ? -1 : 1
