import { connect, createServer, type Server } from 'node:net'
import { GateError } from '../../core/error.js'
import { errnoOf } from '../disk/errno.js'
import { stat } from '../disk/files.js'

/**
 * One writer per folder, held by the kernel: an abstract unix socket named after the folder's device
 * and inode, gone with the process however it ends. Linux only; elsewhere, and between containers
 * (abstract names are per network namespace), the writer epoch alone keeps the older writer out.
 */
export type Lock = { release(): Promise<void> }

const ASK_MS = 1000

export async function takeLock(dir: string, holder: () => string): Promise<Lock> {
  if (process.platform !== 'linux') return { release: async () => {} }
  const { dev, ino } = await stat(dir, { bigint: true })
  const path = `\0capsule-gate/journal/${dev}/${ino}`
  // Whoever is refused may ask who it is that holds the folder.
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    socket.end(holder())
  })
  try {
    await listen(server, path)
  } catch (error) {
    if (errnoOf(error) !== 'EADDRINUSE') throw error
    const by = await askHolder(path)
    throw new GateError('locked', `${dir} is held by ${by ?? 'another process'}`)
  }
  server.unref()
  return { release: () => new Promise((resolve) => server.close(() => resolve())) }
}

/** `exclusive`: workers of one cluster would otherwise be handed the same socket. */
function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path, exclusive: true }, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function askHolder(path: string): Promise<string | null> {
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect({ path })
    socket.setEncoding('utf8').setTimeout(ASK_MS, () => socket.destroy())
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(answer === '' ? null : answer))
  })
}
