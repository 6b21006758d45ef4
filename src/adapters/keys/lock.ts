import { createServer } from 'node:net'
import { GateError } from '../../core/error.js'
import { statSync } from '../disk/files.js'

/**
 * One writer per key directory. The lock is an abstract socket named after the inode: the kernel
 * drops it with the process, so no crash leaves a stale one, and two paths to one directory share it.
 */
export async function exclusively<T>(dir: string, work: () => T): Promise<T> {
  const { dev, ino } = statSync(dir, { bigint: true })
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const taken = 'code' in error && error.code === 'EADDRINUSE'
      reject(taken ? new GateError('locked', `${dir} is being changed by another process`) : error)
    })
    server.listen(`\0capsule-gate-keys-${dev}-${ino}`, resolve)
  })
  try {
    return work()
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}
