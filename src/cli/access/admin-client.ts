import type { Command } from 'commander'
import { UsageError } from '../output/print.js'
import { parsedJson, readGiven } from './given-file.js'

/** How a command reaches a running gate: over the admin plane, with a token like any other client. */
export type AdminTarget = { url?: string; tokenFile?: string; json?: boolean }

const DEFAULT_URL = 'http://127.0.0.1:8081'
const WAIT_MS = 30_000

export const adminOptions = (command: Command): Command =>
  command
    .option('--url <url>', `admin plane (default: GATE_ADMIN_URL, else ${DEFAULT_URL})`)
    .option('--token-file <file>', 'file with an admin token (default: GATE_ADMIN_TOKEN)')

/** Whether the user pointed at a running gate at all. */
export const namesGate = ({ url, tokenFile }: AdminTarget): boolean => {
  const { GATE_ADMIN_URL, GATE_ADMIN_TOKEN } = process.env
  return [url, tokenFile, GATE_ADMIN_URL, GATE_ADMIN_TOKEN].some((given) => given !== undefined)
}

export async function callAdmin<T>(
  target: AdminTarget,
  method: 'GET' | 'POST' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<T> {
  const base = target.url ?? process.env.GATE_ADMIN_URL ?? DEFAULT_URL
  if (!URL.canParse(path, base)) throw new UsageError(`${base} is not a URL`)
  const url = new URL(path, base)
  const authorization = `Bearer ${tokenOf(target)}`
  warnInClear(url)
  const json = { 'content-type': 'application/json' }
  const response = await fetch(url, {
    method,
    redirect: 'error',
    signal: AbortSignal.timeout(WAIT_MS),
    headers: { authorization, ...(body === undefined ? {} : json) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }).catch((error: unknown) => {
    const cause = (error as { cause?: { code?: string } }).cause?.code ?? String(error)
    throw new Error(
      `no gate answers at ${url.origin} (${cause}): is it running, and is --url right?`,
    )
  })
  const answer = parsedJson(await response.text()) ?? null
  if (!response.ok) {
    const detail = (answer as { detail?: unknown } | null)?.detail
    throw new Error(
      `${response.status}: ${typeof detail === 'string' ? detail : 'the gate refused'}`,
    )
  }
  if (answer === null) throw new Error(`${url.origin} did not answer like a gate's admin plane`)
  return answer as T
}

/** Never an argument: arguments stand in the process list and in shell histories. */
function tokenOf({ tokenFile }: AdminTarget): string {
  const { GATE_ADMIN_TOKEN } = process.env
  const token = (tokenFile === undefined ? GATE_ADMIN_TOKEN : String(readGiven(tokenFile)))?.trim()
  if (token === undefined || token === '') {
    throw new UsageError(
      'no admin token: set GATE_ADMIN_TOKEN or --token-file (capsule-gate tokens create --role operator --name YOU)',
    )
  }
  if (!/^[\x21-\x7e]+$/.test(token)) throw new UsageError('the admin token is not one line of text')
  return token
}

const LOOPBACK = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/
function warnInClear({ protocol, hostname, host }: URL): void {
  if (protocol === 'https:' || LOOPBACK.test(hostname)) return
  process.stderr.write(`warning: the token goes to ${host} in clear; use https or a tunnel\n`)
}
