import { randomFillSync } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { GateError } from '../../core/error.js'
import { ifThereSync } from '../disk/errno.js'
import {
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from '../disk/files.js'
import { syncFolder } from '../disk/folder.js'
import { lockFolder } from '../disk/lock.js'
import { withFileSync } from '../disk/with-file.js'

/** One process at a time changes a key folder. */
export async function exclusively<T>(dir: string, work: () => T): Promise<T> {
  const lock = await lockFolder(dir, 'keys')
  try {
    return work()
  } finally {
    await lock.release()
  }
}

/** Overwritten, cut and unlinked. Copy-on-write and flash storage may keep old blocks all the same. */
export function destroy(path: string, afterOverwrite?: () => void): void {
  const overwrite = (file: number): true => {
    const noise = randomFillSync(new Uint8Array(fstatSync(file).size))
    writeSync(file, noise, 0, noise.length, 0)
    fsyncSync(file)
    afterOverwrite?.()
    ftruncateSync(file, 0)
    fsyncSync(file)
    return true
  }
  const flags = constants.O_RDWR | constants.O_NOFOLLOW
  if (ifThereSync(() => withFileSync(path, flags, overwrite)) === null) return
  rmSync(path, { force: true })
  syncFolder(dirname(path))
}

export function readPrivate(path: string): string {
  const read = (file: number): string => {
    refuseMode(path, fstatSync(file).mode, 0o077, 'others may use the key', '600')
    return readFileSync(file, 'utf8')
  }
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW
  const text = ifThereSync(() => withFileSync(path, flags, read))
  if (text === null) throw new GateError('missing', `private key file ${path} is missing`)
  return text
}

/** A directory that others may write to lets them put another key in place of ours. */
export function refuseOpenDirectory(dir: string): void {
  const found = statSync(dir, { throwIfNoEntry: false })
  if (found === undefined) throw new GateError('missing', `key directory ${dir} is missing`)
  refuseMode(dir, found.mode, 0o022, 'others may replace keys', '700')
}

function refuseMode(path: string, mode: number, refused: number, why: string, good: string): void {
  if ((mode & refused) === 0) return
  const octal = (mode & 0o777).toString(8).padStart(4, '0')
  const message = `${path} has mode ${octal}, ${why}: run  chmod ${good} ${quoted(path)}`
  throw new GateError('permissions', message)
}

const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) && !basename(path).startsWith('-')
    ? path
    : `'${path.replaceAll("'", "'\\''")}'`
