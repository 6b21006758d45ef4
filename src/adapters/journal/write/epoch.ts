import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { GateError } from '../../../core/error.js'
import { errnoOf, messageOf } from '../../disk/errno.js'
import { closeSync, openSync, readFile, readSync } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'

/**
 * The writer epoch: whoever opens the journal writes the next number, and a writer reads the file
 * before it writes and again before it acknowledges. So two writers that cannot see each other's lock
 * (two containers, one volume) cannot both be believed: the older one stops.
 */
export type Epoch = {
  readonly number: number
  /** Throws `fenced` when the file is not ours any more. */
  check(): void
  describe(): string
}

const MAX_BYTES = 512

export async function claimEpoch(dir: string): Promise<Epoch> {
  const path = join(dir, 'epoch')
  const number = ((await readEpoch(path))?.epoch ?? 0) + 1
  const host = hostname()
  // The nonce tells apart two writers that claim the same number at the same time.
  const nonce = randomBytes(12).toString('hex')
  const text = `${JSON.stringify({ epoch: number, pid: process.pid, host, nonce })}\n`
  await replaceFile(path, text)
  const buffer = Buffer.alloc(MAX_BYTES)
  const check = (): void => {
    // Opened by name each time: a replaced file is a new inode, and NFS revalidates on open.
    let found: string
    try {
      const fd = openSync(path, 'r')
      try {
        found = buffer.toString('utf8', 0, readSync(fd, buffer, 0, MAX_BYTES, 0))
      } finally {
        closeSync(fd)
      }
    } catch (error) {
      throw new GateError('fenced', `the writer epoch cannot be read: ${messageOf(error)}`)
    }
    if (found === text) return
    const other = parseEpoch(found)
    throw new GateError(
      'fenced',
      other === null
        ? 'the writer epoch is not ours any more'
        : `a newer writer took over: epoch ${other.epoch}, pid ${other.pid} on ${other.host} (ours is ${number})`,
    )
  }
  check()
  return { number, check, describe: () => `pid ${process.pid} on ${host}, epoch ${number}` }
}

type EpochRecord = { readonly epoch: number; readonly pid: number; readonly host: string }

async function readEpoch(path: string): Promise<EpochRecord | null> {
  try {
    return parseEpoch(await readFile(path, 'utf8'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return null
    throw error
  }
}

/** An unreadable epoch only loses its number: the nonce still fences. */
function parseEpoch(text: string): EpochRecord | null {
  try {
    const { epoch, pid, host } = JSON.parse(text)
    return Number.isSafeInteger(epoch) && epoch > 0
      ? { epoch, pid: Number(pid), host: String(host) }
      : null
  } catch {
    return null
  }
}
