import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeSync,
} from '../../adapters/disk/files.js'
import { syncFolder } from '../../adapters/evidence/durable-file.js'
import { GateError } from '../../core/error.js'

/** A secret of this installation: made once, kept with mode 0600, refused when others may read it. */
export function ownSecret(path: string, bytes: number): Buffer {
  if (!existsSync(path)) create(path, bytes)
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new GateError('key_unusable', `${path} may be read by others: chmod 600 ${path}`)
  }
  const secret = Buffer.from(readFileSync(path, 'utf8').trim(), 'hex')
  if (secret.length !== bytes) {
    throw new GateError('key_unusable', `${path} does not hold ${bytes} bytes of hex`)
  }
  return secret
}

/** It has its name only once it is whole: a name without its content would stop every later start. */
function create(path: string, bytes: number): void {
  const temporary = `${path}.tmp`
  const file = openSync(temporary, 'w', 0o600)
  try {
    writeSync(file, `${randomBytes(bytes).toString('hex')}\n`)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
  syncFolder(dirname(path))
}
