import { setTimeout as pause } from 'node:timers/promises'
import type { GateConfig } from '../../config/model.js'
import { GateError } from '../../core/error.js'
import { readMessage } from '../../core/mcp/message.js'
import type { GateReport } from '../../gate/context.js'
import { serveWire, type Wire } from '../../mounts/mcp/stdio.js'
import { follow, type Opening, reachOwner } from './follow.js'
import { exitCodeOf, type Owner, startOwner, type Wrapping } from './owner.js'

export type WrapOptions = {
  readonly judged: 'by_files' | 'by_nothing'
  readonly report: (event: GateReport) => void
  /** Aborts with the name of a signal, which goes on to the command. */
  readonly stop: AbortSignal
}

/** How long another process may hold the folder without listening: it is starting, or it is going. */
const PATIENCE_MS = 15_000
const BETWEEN_MS = 50
/** A command that a signal does not end is ended otherwise after this time: clients wait no longer. */
const GRACE_MS = 300

/** Puts a command behind the gate until its client or the command itself ends; gives the exit code. */
export async function runWrap(
  config: GateConfig,
  wrapping: Wrapping,
  wire: Wire,
  options: WrapOptions,
): Promise<number> {
  const opening: Opening = { lines: [], unheard: new Set() }
  let since = performance.now()
  for (;;) {
    const socket = await reachOwner(config.data_dir)
    if (socket !== null) {
      const followed = await follow(socket, wrapping, wire, opening, options.stop)
      if (followed.kind === 'ended') return followed.code
      if (options.stop.aborted) return 1
      again(opening)
      since = performance.now()
      continue
    }
    try {
      const owner = await startOwner(config, options)
      return await own(owner, wrapping, wire, opening, options)
    } catch (error) {
      const held = error instanceof GateError && error.code === 'locked'
      if (!held || performance.now() - since > PATIENCE_MS || options.stop.aborted) throw error
      await pause(BETWEEN_MS)
    }
  }
}

/** The client has its answers to these already. */
function again({ lines, unheard }: Opening): void {
  for (const octets of lines) {
    const read = readMessage(octets, octets.length)
    if (read.ok && read.message.kind === 'request') unheard.add(read.message.id.key)
  }
}

async function own(
  owner: Owner,
  wrapping: Wrapping,
  wire: Wire,
  opening: Opening,
  { stop }: WrapOptions,
): Promise<number> {
  try {
    const { session, sender, kill } = await owner.wrap(
      wrapping,
      { send: (octets) => void wire.offer(octets) },
      (chunk) => process.stderr.write(chunk),
    )
    for (const octets of opening.lines) await session.handle(octets, sender)
    const { idle } = serveWire(wire, session, sender, owner)
    const stopped = new Promise<void>((resolve) => {
      const onStop = (): void => {
        kill(stop.reason as NodeJS.Signals)
        setTimeout(resolve, GRACE_MS)
      }
      if (stop.aborted) onStop()
      else stop.addEventListener('abort', onStop, { once: true })
    })
    const over = Promise.race([wire.closed.then(idle), stopped, session.ended])
    await over
    await session.close()
    const ended = await Promise.race([session.ended, pause(0, null)])
    await idle()
    return ended === null ? 0 : exitCodeOf(ended)
  } finally {
    await owner.close()
  }
}
