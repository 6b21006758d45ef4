import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, statSync } from '../../adapters/disk/files.js'
import { syncName } from '../../adapters/disk/folder.js'
import { createFileSync } from '../../adapters/disk/replace-file.js'
import { GateError } from '../../core/error.js'

/** A secret of this installation: made once, kept with mode 0600, refused when others may read it. */
export function ownSecret(path: string, bytes: number): Buffer {
  // A name without its content would stop every later start, so the file is made whole or not at all.
  if (!existsSync(path)) createFileSync(path, `${randomBytes(bytes).toString('hex')}\n`)
  // The process that made it may have been killed before its name was safe, and from here on it is used.
  else syncName(path)
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new GateError('key_unusable', `${path} may be read by others: chmod 600 ${path}`)
  }
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex')
  if (secret.length !== bytes) {
    throw new GateError('key_unusable', `${path} does not hold ${bytes} bytes of hex`)
  }
  return secret
}
