import { setTimeout as pause } from 'node:timers/promises'
import type { GateConfig } from '../../config/model.js'
import { GateError } from '../../core/error.js'
import { readMessage } from '../../core/mcp/message.js'
import type { Sender } from '../../mounts/mcp/options.js'
import type { Session } from '../../mounts/mcp/session.js'
import { serveWire, type Wire } from '../../mounts/mcp/stdio.js'
import { codeOfSignal, end, exitCodeOf, GRACE_MS, type Wrapping } from './command.js'
import { follow, type Opening, reachOwner } from './follow.js'
import { type Owner, type OwnerOptions, startOwner } from './owner.js'

export type WrapOptions = OwnerOptions & {
  /** Aborts with the name of a signal, which goes on to the command. */
  readonly stop: AbortSignal
  /** For what the command says beside the protocol; MUST NOT throw. */
  readonly stderr: (chunk: Uint8Array) => void
}

/** How long another process may hold the folder without listening: it is starting, or it is going. */
const PATIENCE_MS = 15_000
const BETWEEN_MS = 50
/** For the last answers, once the command is gone. */
const LAST_MS = 5_000

/** Puts a command behind the gate until its client or the command itself ends; gives the exit code. */
export async function runWrap(
  config: GateConfig,
  wrapping: Wrapping,
  wire: Wire,
  options: WrapOptions,
): Promise<number> {
  const { stop } = options
  const opening: Opening = { lines: [], unheard: new Set() }
  let since = performance.now()
  while (!stop.aborted) {
    const socket = await reachOwner(config.data_dir)
    if (socket !== null) {
      const followed = await follow(socket, wrapping, wire, opening, options)
      if (followed.kind === 'ended') return followed.code
      since = performance.now()
      continue
    }
    try {
      const owner = await startOwner(config, options)
      return await own(owner, wrapping, wire, opening, options)
    } catch (error) {
      const held = error instanceof GateError && error.code === 'locked'
      if (!held || performance.now() - since > PATIENCE_MS) throw error
      await pause(BETWEEN_MS)
    }
  }
  return codeOfSignal(stop.reason)
}

async function own(
  owner: Owner,
  wrapping: Wrapping,
  wire: Wire,
  opening: Opening,
  { stop, stderr }: WrapOptions,
): Promise<number> {
  try {
    if (stop.aborted) return codeOfSignal(stop.reason)
    const client = { send: (octets: Uint8Array) => void wire.offer(octets) }
    const wrapped = await owner.wrap(wrapping, client, stderr)
    const { session, sender } = wrapped
    const onStop = (): void => end(wrapped, stop.reason)
    if (stop.aborted) onStop()
    else stop.addEventListener('abort', onStop, { once: true })
    await sayAgain(opening, session, sender, wire)
    const { idle } = serveWire(wire, session, sender, owner)
    await Promise.race([wire.closed.then(idle), session.ended])
    await session.close()
    const ended = await session.ended
    // What was sent has ended with the command; who waits for a person may wait for long.
    await Promise.race([idle(), pause(stop.aborted ? GRACE_MS : LAST_MS)])
    return exitCodeOf(ended)
  } finally {
    await owner.close()
  }
}

/** To a server that is new to this client, which has its answers already or still waits for them. */
async function sayAgain(
  { lines, unheard }: Opening,
  session: Session,
  sender: Sender,
  wire: Wire,
): Promise<void> {
  for (const octets of lines) {
    const reply = await session.handle(octets, sender)
    const read = readMessage(octets, octets.length)
    const isKnown = read.ok && read.message.kind === 'request' && unheard.has(read.message.id.key)
    if (reply !== null && !isKnown) wire.write(reply.octets)
  }
}
