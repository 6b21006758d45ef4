import { createServer } from 'node:net'
import { GateError } from '../../core/error.js'
import { errnoOf } from '../disk/errno.js'
import { statSync } from '../disk/files.js'

/**
 * One writer per store. The kernel holds the lock (abstract unix socket, named by the folder's device
 * and inode) and lets go of it with the process. Elsewhere than on Linux there are no such sockets;
 * there the journal, which is opened first, is the only guard.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  if (process.platform !== 'linux') return async () => {}
  const { dev, ino } = statSync(folder)
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const taken = errnoOf(error) === 'EADDRINUSE'
      reject(
        taken
          ? new GateError('locked', `${folder} is open in another process`, undefined, error)
          : error,
      )
    })
    server.listen(`\0capsule-gate/evidence/${dev}/${ino}`, resolve)
  })
  server.unref()
  return () => new Promise((resolve) => server.close(() => resolve()))
}
