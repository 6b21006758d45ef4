import { randomBytes } from 'node:crypto'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { GateError } from '../../../core/error.js'
import { looselyRead } from '../../../core/journal/head.js'
import { ifThere, messageOf } from '../../disk/errno.js'
import { readFile, readSync } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'
import { withFileSync } from '../../disk/with-file.js'

/**
 * The writer epoch: each opening of the journal writes the next number, and a writer reads the file before it writes
 * and again before it acknowledges. So of two writers that cannot see each other's lock (two containers, one volume)
 * the older one stops.
 */
export type Epoch = {
  /** Throws `fenced` when the file is not ours any more. */
  check(): void
  describe(): string
}

const MAX_BYTES = 512

export async function takeEpoch(dir: string): Promise<Epoch> {
  const path = join(dir, 'epoch')
  const before = await ifThere(readFile(path, 'utf8'))
  const number = (parseEpoch(before ?? '')?.epoch ?? 0) + 1
  const host = hostname()
  // The nonce distinguishes two writers that take the same number at the same time.
  const nonce = randomBytes(12).toString('hex')
  const text = `${JSON.stringify({ epoch: number, pid: process.pid, host, nonce })}\n`
  await replaceFile(path, text)
  const buffer = Buffer.alloc(MAX_BYTES)
  const check = (): void => {
    // Opened by name each time: a replaced file is a new inode, and NFS revalidates on open.
    let found: string
    try {
      const length = withFileSync(path, 'r', (fd) => readSync(fd, buffer, 0, MAX_BYTES, 0))
      found = buffer.toString('utf8', 0, length)
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
  return { check, describe: () => `pid ${process.pid} on ${host}, epoch ${number}` }
}

/** An unreadable epoch only loses its number: the nonce still fences. */
function parseEpoch(text: string): { epoch: number; pid: number; host: string } | null {
  const { epoch, pid, host } = looselyRead(text)
  const good = Number.isSafeInteger(epoch) && Number(epoch) > 0
  return good ? { epoch: Number(epoch), pid: Number(pid), host: String(host) } : null
}
