import type { Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { Lines } from '../../core/mcp/lines.js'
import { readMessage } from '../../core/mcp/message.js'
import { serveWire } from '../../mounts/mcp/stdio.js'
import type { McpEnd } from '../../ports/mcp.js'
import { end, exitCodeOf, GRACE_MS, type Wrapped } from './command.js'
import { controlFrame, type Frame, messageFrame, readFrame } from './frames.js'
import type { Owner } from './owner.js'

/** Room for the frame around a message, and for an environment. */
const BESIDE_BYTES = 1024 * 1024
/** Of what the other instance has not taken yet: what can be lost is, beyond it. */
const MOST_UNREAD = 16 * 1024 * 1024

/** Another instance of `wrap`: it says what to start, then its client's messages come here. */
export function serveInstance(
  socket: Socket,
  owner: Owner,
  messageBytes: number,
): { leave(): Promise<void> } {
  let taker: ((octets: Uint8Array) => void) | null = null
  let wrapped: Wrapped | null = null
  let idle: () => Promise<void> = async () => undefined
  let leaving = false
  let tellStill = (): void => undefined
  const early: Uint8Array[] = []
  const wire = {
    take(line: (octets: Uint8Array) => void): void {
      taker = line
      for (const octets of early.splice(0)) line(octets)
    },
    write: (octets: Uint8Array): void => {
      if (socket.writable) socket.write(messageFrame(octets))
    },
  }
  const offer = (frame: Buffer): void => {
    if (socket.writable && socket.writableLength < MOST_UNREAD) socket.write(frame)
  }
  const over = (code: number, moved: boolean): void => {
    if (socket.writable) socket.end(controlFrame({ say: 'ended', code, moved }))
    // One that does not read holds nobody up.
    setTimeout(() => socket.destroy(), GRACE_MS)
  }

  async function take(frame: Frame | null): Promise<void> {
    if (frame === null) {
      socket.destroy()
      return
    }
    if (frame.kind === 'message') {
      if (leaving && isRequest(frame.octets)) {
        const base64 = Buffer.from(frame.octets).toString('base64')
        if (socket.writable) socket.write(controlFrame({ say: 'back', base64 }))
      } else if (taker === null) early.push(frame.octets)
      else taker(frame.octets)
      return
    }
    const { control } = frame
    switch (control.say) {
      case 'hello': {
        const { say, ...wrapping } = control
        const client = { send: (octets: Uint8Array) => offer(messageFrame(octets)) }
        const opened = await owner.wrap(wrapping, client, (chunk) => {
          const base64 = Buffer.from(chunk).toString('base64')
          offer(controlFrame({ say: 'stderr', base64 }))
        })
        wrapped = opened
        if (socket.writable) socket.write(controlFrame({ say: 'welcome' }))
        idle = serveWire(wire, opened.session, opened.sender, owner).idle
        opened.session.ended.then(tellEnd).catch(() => undefined)
        return
      }
      case 'signal':
        if (wrapped === null) socket.destroy()
        else end(wrapped, control.signal)
        return
      case 'done':
        // Not waited for: a signal may follow.
        whenIdle()
        return
      case 'still':
        tellStill()
        return
      case 'welcome':
      case 'moving':
      case 'stderr':
      case 'back':
      case 'ended':
        socket.destroy()
    }
  }

  /** Calls that were under way end with the command, and their answers go first. */
  async function tellEnd(ended: McpEnd): Promise<void> {
    await idle()
    if (!leaving) over(exitCodeOf(ended), false)
  }
  const whenIdle = (): void => {
    idle()
      .then(() => wrapped?.session.close())
      .catch(() => undefined)
  }

  let order = Promise.resolve()
  const lines = new Lines(messageBytes + BESIDE_BYTES, (octets) => {
    const frame = readFrame(octets)
    order = order.then(() => take(frame)).catch(() => void socket.destroy())
  })
  socket.on('data', (piece: Buffer) => {
    if (!lines.push(piece)) socket.destroy()
  })
  socket.on('error', () => undefined)
  // Its client is gone with it: what was sent is observed to its end.
  socket.once('close', whenIdle)
  return {
    /** What is under way may end in the time there is; then its command is ended, and the instance told to go on. */
    async leave() {
      leaving = true
      const still = new Promise<void>((resolve) => {
        tellStill = resolve
      })
      if (socket.writable) socket.write(controlFrame({ say: 'moving' }))
      await Promise.race([idle(), pause(GRACE_MS)])
      const force = setTimeout(() => wrapped?.kill('SIGKILL'), GRACE_MS)
      await wrapped?.session.close()
      clearTimeout(force)
      await Promise.race([Promise.all([idle(), still]), pause(GRACE_MS)])
      over(0, true)
    },
  }
}

function isRequest(octets: Uint8Array): boolean {
  const read = readMessage(octets, octets.length)
  return read.ok && read.message.kind === 'request'
}
