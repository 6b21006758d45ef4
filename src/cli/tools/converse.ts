import { spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import { Lines } from '../../core/mcp/lines.js'
import {
  errorOctets,
  notificationOctets,
  type Request,
  type Response,
  readMessage,
  requestOctets,
  resultOctets,
} from '../../core/mcp/message.js'
import { UsageError } from '../output/print.js'
import { MAX_LIST_BYTES } from './definitions.js'

export type ServerCommand = { readonly command: string; readonly args: readonly string[] }

/** A server of our own for a few questions. */
export type Conversation = {
  ask(method: string, params: object): Promise<Response['body']>
  tell(method: string): void
  /** Counts what the server said of its list: a list from before is out of date. */
  changes(): number
  /** Resolves when the process is gone. */
  close(): Promise<void>
}

/** A command like `npx` may have to fetch the server first. */
const ANSWER_MS = 60_000
const GRACE_MS = 3_000
const KEPT_TALK = 2_000

export function converse({ command, args }: ServerCommand): Conversation {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] })
  const waiting = new Map<string, (body: Response['body'] | UsageError) => void>()
  let ended: UsageError | null = null
  let talk = ''
  let changes = 0
  let asked = 0

  const end = (why: string): void => {
    ended ??= new UsageError(talk.trim() === '' ? why : `${why}; it said:\n${talk.trim()}`)
    for (const settle of waiting.values()) settle(ended)
    waiting.clear()
  }
  const send = (octets: Uint8Array): void => {
    child.stdin.write(octets)
    child.stdin.write('\n')
  }
  const gone = new Promise<void>((resolve) => {
    child.on('error', (error) => {
      end(`${command} cannot be started: ${error.message}`)
      resolve()
    })
    child.on('exit', () => resolve())
    // Not before all it wrote was read.
    child.on('close', (code, signal) => {
      end(`the server ended (${signal ?? `exit code ${code}`}) before it had answered`)
    })
  })
  // Who is gone does not read; `close` tells.
  child.stdin.on('error', () => {})
  child.stderr.on('data', (chunk) => {
    talk = `${talk}${chunk}`.slice(-KEPT_TALK)
  })
  const lines = new Lines(MAX_LIST_BYTES, (line) => {
    const read = readMessage(line, MAX_LIST_BYTES)
    // Some servers talk on stdout too; what is no message answers nothing.
    if (!read.ok) return
    const { message } = read
    if (message.kind === 'request') send(replyTo(message))
    else if (message.kind === 'notification') {
      if (message.method === 'notifications/tools/list_changed') changes++
    } else {
      waiting.get(message.id.key)?.(message.body)
      waiting.delete(message.id.key)
    }
  })
  child.stdout.on('data', (chunk: Buffer) => {
    if (lines.push(chunk)) return
    end('the server sent a line of more than 16 MiB')
    child.kill('SIGKILL')
  })

  return {
    ask(method, params) {
      if (ended !== null) return Promise.reject(ended)
      const id = ++asked
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          end(`the server did not answer ${method} within ${ANSWER_MS / 1000} s`)
        }, ANSWER_MS)
        waiting.set(`n${id}`, (body) => {
          clearTimeout(timer)
          if (body instanceof UsageError) reject(body)
          else resolve(body)
        })
        send(requestOctets(id, method, JSON.stringify(params)))
      })
    },
    tell: (method) => send(notificationOctets(method, '')),
    changes: () => changes,
    async close() {
      // A server goes when its input ends; one that does not is told, and then not asked any more.
      child.stdin.end()
      for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
        if (await within(gone, GRACE_MS)) break
        child.kill(signal)
      }
      await gone
      for (const stream of [child.stdout, child.stderr]) stream.destroy()
    },
  }
}

async function within(event: Promise<void>, ms: number): Promise<boolean> {
  const timer = new AbortController()
  const late = delay(ms, false, { signal: timer.signal }).catch(() => false)
  const inTime = await Promise.race([event.then(() => true), late])
  timer.abort()
  return inTime
}

/** What a client is asked while it only wants the list. */
function replyTo({ id, method }: Request): Uint8Array {
  if (method === 'ping') return resultOctets(id, '{}')
  if (method === 'roots/list') return resultOctets(id, '{"roots":[]}')
  return errorOctets(id, '{"code":-32601,"message":"tools are only being listed"}')
}
