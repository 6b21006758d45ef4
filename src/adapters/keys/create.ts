import { existsSync } from '../disk/files.js'
import { makeFolder } from '../disk/make-folder.js'
import { KeyError, refuseOpenDirectory } from './files.js'
import { destroyRemnants, keyringPath, type OwnKey, PURPOSES, writeKeyring } from './keyring.js'
import { exclusively } from './lock.js'
import { type KeyOptions, makeKey } from './make.js'

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
      throw new KeyError('exists', `${keyringPath(dir)} exists: rotate instead of creating again`)
    }
    destroyRemnants(dir, [])
    const validFrom = new Date(now()).toISOString()
    const keys = PURPOSES.map((purpose) => makeKey(dir, purpose, 1, validFrom, onStep))
    writeKeyring(dir, keys, () => onStep('keyring_temporary'))
    onStep('keyring_written')
    return keys
  })
}
