import type { Socket } from 'node:net'
import { Lines } from '../../core/mcp/lines.js'
import { serveWire } from '../../mounts/mcp/stdio.js'
import { controlFrame, type Frame, messageFrame, readFrame } from './frames.js'
import { exitCodeOf, type Owner, type Wrapped } from './owner.js'

/** Room for the frame around a message, and for an environment. */
const BESIDE_BYTES = 1024 * 1024

/** Another instance of `wrap`: it says what to start, then its client's messages come here. */
export function serveInstance(
  socket: Socket,
  owner: Owner,
  messageBytes: number,
): { leave(): Promise<void> } {
  let taker: ((octets: Uint8Array) => void) | null = null
  let wrapped: Wrapped | null = null
  let idle: () => Promise<void> = async () => undefined
  const early: Uint8Array[] = []
  const wire = {
    take(line: (octets: Uint8Array) => void): void {
      taker = line
      for (const octets of early.splice(0)) line(octets)
    },
    write: (octets: Uint8Array): void => {
      if (!socket.destroyed) socket.write(messageFrame(octets))
    },
  }
  const end = (code: number, moved: boolean): void => {
    if (!socket.destroyed) socket.end(controlFrame({ say: 'ended', code, moved }))
  }

  async function take(frame: Frame | null): Promise<void> {
    if (frame === null) {
      socket.destroy()
      return
    }
    if (frame.kind === 'message') {
      if (taker === null) early.push(frame.octets)
      else taker(frame.octets)
      return
    }
    const { control } = frame
    switch (control.say) {
      case 'hello': {
        const { say, ...wrapping } = control
        const opened = await owner.wrap(wrapping, { send: wire.write }, (chunk) =>
          socket.write(
            controlFrame({ say: 'stderr', base64: Buffer.from(chunk).toString('base64') }),
          ),
        )
        wrapped = opened
        opened.session.ended.then((ended) => end(exitCodeOf(ended), false)).catch(() => undefined)
        idle = serveWire(wire, opened.session, opened.sender, owner).idle
        return
      }
      case 'signal':
        wrapped?.kill(control.signal)
        return
      case 'done':
        await idle()
        await wrapped?.session.close()
        return
      case 'stderr':
      case 'ended':
        socket.destroy()
    }
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
  socket.once('close', () => {
    idle()
      .then(() => wrapped?.session.close())
      .catch(() => undefined)
  })
  return {
    async leave() {
      end(0, true)
      await wrapped?.session.close()
    },
  }
}
