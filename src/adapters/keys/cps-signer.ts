import { sign } from 'node:crypto'
import type { CpsSigner } from '../../core/cps/seal.js'
import { refuseOpenDirectory } from './files.js'
import { activeKey, listKeys } from './keyring.js'
import { privateHalf } from './signer.js'

/** Signs with the cps key that is active when it is opened; after a rotation it has to be opened again. */
export function openCpsSigner(dir: string): CpsSigner {
  refuseOpenDirectory(dir)
  const record = activeKey(listKeys(dir), 'cps')
  const { key } = privateHalf(dir, record)
  return { publicKey: record.public_key, sign: (message) => sign(null, message, key) }
}
