import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { join } from 'node:path'

/** How a client reaches a server: it starts a command, or it asks at an address. */
export type Link =
  | {
      readonly via: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly env?: Readonly<Record<string, string>>
    }
  | {
      readonly via: 'http'
      readonly url: string
      readonly headers?: Readonly<Record<string, string>>
    }

export type Via = Link['via']
export type ServerName = 'everything' | 'filesystem' | 'modern'

export const SERVERS: Readonly<Record<ServerName, readonly Via[]>> = {
  everything: ['stdio', 'http'],
  filesystem: ['stdio'],
  modern: ['stdio', 'http'],
}

const PACKAGES = join(
  import.meta.dirname,
  '..',
  '..',
  '..',
  'node_modules',
  '@modelcontextprotocol',
)
const EVERYTHING = join(PACKAGES, 'server-everything', 'dist', 'index.js')
const FILESYSTEM = join(PACKAGES, 'server-filesystem', 'dist', 'index.js')
const MODERN = join(import.meta.dirname, 'modern-server.mjs')

/** The command that a client starts; the filesystem server gets a folder of its own for each. */
export function stdioServer(server: ServerName, folder: string): Link & { via: 'stdio' } {
  const args = {
    everything: [EVERYTHING, 'stdio'],
    filesystem: [FILESYSTEM, folder],
    modern: [MODERN],
  }
  return { via: 'stdio', command: process.execPath, args: args[server] }
}

export type Running = { readonly port: number; stop(): Promise<void> }

/** One process for all clients that come over HTTP. */
export async function startHttpServer(server: 'everything' | 'modern'): Promise<Running> {
  if (server === 'modern') return runningOf([MODERN, 'http'], {})
  // This server is told its port: another process may take it first, so a few are tried.
  for (let tries = 1; ; tries++) {
    try {
      return await runningOf([EVERYTHING, 'streamableHttp'], { PORT: String(await freePort()) })
    } catch (error) {
      if (tries === 5) throw error
    }
  }
}

export async function runningOf(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Running> {
  const child = spawn(process.execPath, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const port = await portSaid(child)
  return {
    port,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
  }
}

function portSaid(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let said = ''
    child.stderr?.on('data', (piece: Buffer) => {
      said = (said + String(piece)).slice(-4096)
      const port = /listening on port (\d+)/.exec(said)?.[1]
      if (port !== undefined) resolve(Number(port))
    })
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${said}`)))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' ? (address?.port ?? 0) : 0))
    })
  })
}
