import { connect, createServer, type Server } from 'node:net'
import { GateError } from '../../core/error.js'
import { errnoOf } from './errno.js'
import { statSync } from './files.js'

/**
 * One writer per folder, held by the kernel: an abstract unix socket named after the folder's device and inode, gone
 * with the process however it ends, and shared by two paths to one folder. Linux only; elsewhere, and between
 * containers (abstract names are per network namespace), the journal's writer epoch alone keeps an older writer out.
 */
export type Lock = { release(): Promise<void> }

/** Abstract names are open to every user of the machine: whoever answers has so long, and so many words. */
const ASK_MS = 1000
const MOST_WORDS = 500

export async function lockFolder(
  dir: string,
  use: 'journal' | 'evidence' | 'keys',
  /** How the holder describes itself to another process that asks for the lock. */
  describe: () => string = () => `pid ${process.pid}`,
): Promise<Lock> {
  if (process.platform !== 'linux') return { release: async () => {} }
  const { dev, ino } = statSync(dir, { bigint: true })
  const path = `\0capsule-gate/${use}/${dev}/${ino}`
  const server = createServer((socket) => {
    socket.on('error', () => socket.destroy())
    // Without waiting for the other end, which may never hang up: an open connection would hold up the release.
    socket.end(describe(), () => socket.destroy())
  })
  try {
    await listen(server, path)
  } catch (error) {
    if (errnoOf(error) !== 'EADDRINUSE') throw error
    const holder = await askHolder(path)
    throw new GateError('locked', `${dir} is held by ${holder ?? 'another process'}`)
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
    let description = ''
    const socket = connect({ path })
    const late = setTimeout(() => socket.destroy(), ASK_MS)
    socket.setEncoding('utf8').on('data', (text: string) => {
      description = (description + text).slice(0, MOST_WORDS)
      if (description.length === MOST_WORDS) socket.destroy()
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      clearTimeout(late)
      resolve(description === '' ? null : description)
    })
  })
}
