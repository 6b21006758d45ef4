import type { Command } from 'commander'
import { readFileSync } from '../adapters/disk/files.js'
import { UsageError } from './output.js'

/** How a command reaches a running gate: over the admin plane, with a token, like anybody else. */
export type AdminTarget = { url?: string; tokenFile?: string }

const DEFAULT_URL = 'http://127.0.0.1:8081'
const WAIT_MS = 30_000

export const adminOptions = (command: Command): Command =>
  command
    .option('--url <url>', `admin plane (default: GATE_ADMIN_URL, else ${DEFAULT_URL})`)
    .option('--token-file <file>', 'file with an admin token (default: GATE_ADMIN_TOKEN)')

/** Whether the user pointed at a running gate at all. */
export const namesGate = ({ url, tokenFile }: AdminTarget, env = process.env): boolean =>
  [url, tokenFile, env.GATE_ADMIN_URL, env.GATE_ADMIN_TOKEN].some((given) => given !== undefined)

export class GateRefused extends Error {
  readonly status: number
  constructor(status: number, detail: string) {
    super(detail)
    this.status = status
  }
}

export async function callAdmin<T>(
  target: AdminTarget,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
  env: NodeJS.ProcessEnv = process.env,
): Promise<T> {
  const base = target.url ?? env.GATE_ADMIN_URL ?? DEFAULT_URL
  if (!URL.canParse(path, base)) throw new UsageError(`${base} is not a URL`)
  const url = new URL(path, base)
  const token = tokenOf(target, env)
  warnInClear(url)
  let response: Response
  try {
    response = await fetch(url, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(WAIT_MS),
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  } catch (error) {
    const cause = (error as { cause?: { code?: string } }).cause?.code ?? String(error)
    throw new Error(
      `no gate answers at ${url.origin} (${cause}): is it running, and is --url right?`,
    )
  }
  const text = await response.text()
  const answer = parsed(text)
  if (!response.ok) {
    const detail = (answer as { detail?: unknown } | null)?.detail
    throw new GateRefused(
      response.status,
      `${response.status}: ${typeof detail === 'string' ? detail : 'the gate refused'}`,
    )
  }
  if (answer === null) throw new Error(`${url.origin} did not answer like a gate's admin plane`)
  return answer as T
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Never an argument: arguments stand in the process list and in shell histories. */
function tokenOf({ tokenFile }: AdminTarget, env: NodeJS.ProcessEnv): string {
  const token = (tokenFile === undefined ? env.GATE_ADMIN_TOKEN : readToken(tokenFile))?.trim()
  if (token === undefined || token === '') {
    throw new UsageError(
      'no admin token: set GATE_ADMIN_TOKEN or --token-file (capsule-gate tokens create --role operator --name YOU)',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the admin token is not one line of text')
  return token
}

function readToken(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${(error as Error).message}`)
  }
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
function warnInClear({ protocol, hostname, host }: URL): void {
  if (protocol === 'https:' || LOOPBACK.test(hostname)) return
  process.stderr.write(`warning: the token goes to ${host} in clear; use https or a tunnel\n`)
}
