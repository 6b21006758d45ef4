import { randomFillSync } from 'node:crypto'
import { basename, dirname } from 'node:path'
import { GateError } from '../../core/error.js'
import { isMissing } from '../disk/errno.js'
import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeSync,
} from '../disk/files.js'
import { syncFolder } from '../disk/folder.js'
import { lockFolder } from '../disk/lock.js'

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
  let file: number
  try {
    file = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW)
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  try {
    const noise = randomFillSync(new Uint8Array(fstatSync(file).size))
    writeSync(file, noise, 0, noise.length, 0)
    fsyncSync(file)
    afterOverwrite?.()
    ftruncateSync(file, 0)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  rmSync(path, { force: true })
  syncFolder(dirname(path))
}

export function readPrivate(path: string): string {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  } catch (error) {
    if (isMissing(error)) throw new GateError('missing', `private key file ${path} is missing`)
    throw error
  }
  try {
    const { mode } = fstatSync(file)
    if ((mode & 0o077) !== 0) {
      throw new GateError(
        'permissions',
        `${path} has mode ${octal(mode)}, others may use the key: run  chmod 600 ${quoted(path)}`,
      )
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Who may write in the directory may put another key in place of ours. */
export function refuseOpenDirectory(dir: string): void {
  let mode: number
  try {
    mode = statSync(dir).mode
  } catch (error) {
    if (isMissing(error)) throw new GateError('missing', `key directory ${dir} is missing`)
    throw error
  }
  if ((mode & 0o022) !== 0) {
    throw new GateError(
      'permissions',
      `${dir} has mode ${octal(mode)}, others may replace keys: run  chmod 700 ${quoted(dir)}`,
    )
  }
}

const octal = (mode: number): string => (mode & 0o777).toString(8).padStart(4, '0')
const quoted = (path: string): string =>
  /^[\w./-]+$/.test(path) && !basename(path).startsWith('-')
    ? path
    : `'${path.replaceAll("'", "'\\''")}'`
