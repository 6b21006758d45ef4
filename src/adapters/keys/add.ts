import { GateError } from '../../core/error.js'
import { type KeyOptions, makeKey } from './create.js'
import { exclusively, refuseOpenDirectory } from './files.js'
import { destroyRemnants, listKeys, type OwnKey, writeKeyring } from './keyring.js'

/** The first key of a purpose that not every gate has. Two at once make one; an older keyring goes on as it is. */
export async function addCpsKey(dir: string, options: KeyOptions = {}): Promise<OwnKey> {
  const { now = Date.now, onStep = () => {} } = options
  refuseOpenDirectory(dir)
  return exclusively(dir, () => {
    const keys = listKeys(dir)
    if (keys.some(({ purpose }) => purpose === 'cps')) {
      throw new GateError('exists', `${dir} has a cps key: rotate it instead of adding another`)
    }
    destroyRemnants(dir, keys)
    const key = makeKey(dir, 'cps', 1, new Date(now()).toISOString(), onStep)
    writeKeyring(dir, [key, ...keys], onStep)
    return key
  })
}
