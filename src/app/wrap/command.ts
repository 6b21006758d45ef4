import { constants } from 'node:os'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { createStdioServer, type StdioConnection } from '../../adapters/stdio/server.js'
import type { GateConfig } from '../../config/model.js'
import { utf8 } from '../../core/bytes/text.js'
import type { GateReport } from '../../gate/context.js'
import type { Gate } from '../../gate/gate.js'
import { backgroundOver } from '../../mounts/mcp/call/background.js'
import {
  type ClientEnd,
  MAX_SERVER_MESSAGE,
  type Sender,
  type Served,
} from '../../mounts/mcp/options.js'
import { createSession, type Session } from '../../mounts/mcp/session.js'
import type { McpEnd, McpListener, McpReport } from '../../ports/mcp.js'
import { DEFAULT_TERMS, servedAs } from '../mcp/served.js'
import type { Hello } from './frames.js'

/** A command to put behind the gate, and for whom. */
export type Wrapping = Omit<Hello, 'say'>
export type Wrapped = {
  readonly session: Session
  readonly sender: Sender
  kill(signal: NodeJS.Signals): void
}
/** Opens a session with a command, which starts at once. */
export type Wrapper = (
  wrapping: Wrapping,
  client: ClientEnd,
  stderr: (chunk: Uint8Array) => void,
) => Promise<Wrapped>

export function createWrapper(
  gate: Gate,
  config: GateConfig,
  { link, report }: { readonly link: string | null; readonly report: (event: GateReport) => void },
): Wrapper {
  /** By name, for calls that run when their client has gone. */
  const servers = new Map<string, Served>()
  return async ({ name, agent, command, args, cwd, env }, client, stderr) => {
    let child: StdioConnection | null = null
    const maxMessageBytes = MAX_SERVER_MESSAGE
    // That it does not start is for whoever asked for it, which may be another instance.
    const heard = (event: McpReport): void => {
      if (event.event === 'mcp_start_failed') stderr(utf8(`capsule-gate: ${event.detail}\n`))
      else report(event)
    }
    const to = createStdioServer({
      name,
      command,
      args,
      cwd,
      env,
      maxMessageBytes,
      stderr,
      report: heard,
    })
    const terms = config.mcp[name] ?? DEFAULT_TERMS
    const isNew = !servers.has(name)
    servers.set(name, servedAs(name, terms, to))
    if (isNew) await gate.dispatchApproved(backgroundOver(servers, gate))
    const started = {
      ...to,
      connect(listener: McpListener): StdioConnection {
        const opened = to.connect(listener)
        child = opened
        return opened
      },
    }
    const session = createSession(servedAs(name, terms, started), client, {
      gate,
      hashing: nodeCrypto,
      messageBytes: config.limits.body_bytes,
      approvalLink: (id) => (link === null ? null : `${link}/approvals/${id}`),
    })
    const caller = { bearer: null, certificate: null, asserted: agent, source: 'stdio' }
    const sender = { caller, identified: await gate.identify(caller) }
    session.start()
    return { session, sender, kill: (signal) => child?.kill(signal) }
  }
}

/** The exit code of the command, as a shell would tell it. */
export const exitCodeOf = ({ code, signal, why }: McpEnd): number => {
  if (typeof code === 'number') return code
  if (typeof signal === 'string') return codeOfSignal(signal)
  return why.startsWith('start_failed') ? 127 : 1
}

export function codeOfSignal(signal: string): number {
  const numbers: Readonly<Record<string, number>> = constants.signals
  return 128 + (numbers[signal] ?? 0)
}

/** A command that a signal does not end is ended otherwise after this time: clients wait no longer. */
export const GRACE_MS = 300

/** The signal, and what cannot be ignored if it is. */
export function end({ kill }: Pick<Wrapped, 'kill'>, signal: NodeJS.Signals): void {
  kill(signal)
  setTimeout(() => kill('SIGKILL'), GRACE_MS)
}
