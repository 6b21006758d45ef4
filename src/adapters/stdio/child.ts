import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import type { McpEnd } from '../../ports/mcp.js'
import { errnoOf } from '../disk/errno.js'
import type { StdioServerOptions } from './server.js'
import { limitStderr } from './stderr.js'

/** The process of one connection, from its start until nothing of it is left. */
export type Child = {
  write(line: Uint8Array, done: (whole: boolean) => void): void
  /** Lets the output wait for a moment. */
  pause(): void
  kill(signal: NodeJS.Signals): void
  /** Closes its stdin, and ends it by force if it stays (MCP stdio, Shutdown). Resolves when it is gone. */
  stop(why: string): Promise<void>
  /** Ends it at once. */
  abort(why: string): void
}
export type ChildEvents = {
  output(chunk: Uint8Array): void
  /** It takes no more input, and may still have something to say. */
  deaf(): void
  /** No more output will come; the process may still be there. */
  silent(): void
  /** Once, and last. */
  gone(end: McpEnd): void
}
type Spawned = ChildProcessByStdio<Writable, Readable, Readable>
type Command = Pick<StdioServerOptions, 'command' | 'args' | 'cwd' | 'env' | 'stderr'>

/** Between closed stdin, SIGTERM and SIGKILL; and how long others may hold the output open behind its exit. */
const GRACE_MS = 2_000
const PAUSE_MS = 10

/** Null: it could not be started, and `gone` will say why. */
export function startChild(command: Command, events: ChildEvents): Child | null {
  const failed = (error: unknown): void =>
    events.gone({ why: `start_failed:${errnoOf(error) ?? 'unknown'}` })
  try {
    const child = spawnChild(command)
    const { pid } = child
    if (pid !== undefined) return watch(child, pid, command, events)
    child.on('error', failed)
  } catch (error) {
    process.nextTick(failed, error)
  }
  return null
}

/** In a group of its own, so that a signal reaches all that it starts, and a terminal's Ctrl-C only the gate. */
const spawnChild = ({ command, args, cwd, env }: Command): Spawned =>
  spawn(command, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })

function watch(child: Spawned, pid: number, { stderr }: Command, events: ChildEvents): Child {
  const { stdin, stdout } = child
  let why: string | null = null
  let timer: NodeJS.Timeout | null = null
  let stopping = false
  let isGone = false
  const gone = new Promise<void>((resolve) => child.on('close', () => resolve()))

  const kill = (signal: NodeJS.Signals): void => {
    if (isGone) return
    try {
      process.kill(-pid, signal)
    } catch {
      // Nobody of the group is left.
    }
  }
  const after = (act: () => void): void => {
    if (timer !== null) clearTimeout(timer)
    timer = setTimeout(act, GRACE_MS)
  }
  const stop = (reason: string | null): void => {
    why ??= reason
    if (stopping) return
    stopping = true
    stdin.end()
    after(() => {
      why ??= 'stdout_closed'
      kill('SIGTERM')
      after(() => kill('SIGKILL'))
    })
  }

  limitStderr(child.stderr, stderr)
  stdin.on('error', () => {
    events.deaf()
    stop('stdin_closed')
  })
  stdout.on('error', () => {})
  stdout.on('data', (chunk: Buffer) => events.output(chunk))
  stdout.on('end', () => {
    events.silent()
    // The process mostly exits in the same moment; one that stays has no more to say.
    stop(null)
  })
  child.on('error', () => {})
  child.on('exit', () => {
    events.deaf()
    stopping = true
    after(() => {
      kill('SIGKILL')
      for (const stream of child.stdio) stream?.destroy()
    })
  })
  child.on('close', (code, signal) => {
    if (timer !== null) clearTimeout(timer)
    kill('SIGKILL')
    isGone = true
    events.gone({ why: why ?? 'exited', code, signal })
  })

  return {
    write: (line, done) => {
      stdin.write(line, (error) => done(error === null || error === undefined))
    },
    pause() {
      if (stdout.isPaused()) return
      stdout.pause()
      setTimeout(() => stdout.resume(), PAUSE_MS)
    },
    kill,
    stop(reason) {
      stop(reason)
      return gone
    },
    abort(reason) {
      why ??= reason
      stopping = true
      kill('SIGKILL')
    },
  }
}
