import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Capsule } from '../../src/core/capsule/model.js'
import { sampleCapsule, type TestKey } from '../core/statement/sample.js'
import { sealCapsule } from '../core/statement/seal-capsule.js'

const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')
export type Ran = { readonly code: number | null; readonly out: string; readonly err: string }

/** The built command in its own process, as a user runs it. */
export async function cli(
  args: readonly string[],
  options: { stdin?: string | Readable; cwd?: string; node?: readonly string[] } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [...(options.node ?? []), MAIN, ...args], {
    cwd: options.cwd,
    env: { ...process.env, NO_COLOR: '' },
  })
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  // A command that has seen enough closes its end.
  child.stdin.on('error', () => {})
  if (typeof options.stdin === 'object') options.stdin.pipe(child.stdin)
  else child.stdin.end(options.stdin ?? '')
  const [code] = await once(child, 'close')
  return { code, out, err }
}

const leafHash = (line: string): string =>
  createHash('sha256')
    .update(Buffer.from([0]))
    .update(line)
    .digest('hex')

/** The lines of a journal as DESIGN §5 draws them, signed for real. */
export function* journalLines(capsules: Iterable<Capsule>, key: TestKey): Generator<string> {
  let prev = '0'.repeat(64)
  let seq = 0
  const line = (type: string, rest: object): string => {
    const text = JSON.stringify({
      v: 1,
      origin: 'gate-1',
      seq: seq++,
      prev,
      at: '2026-10-01T12:00:00.000Z',
      type,
      ...rest,
    })
    prev = leafHash(text)
    return text
  }
  for (const capsule of capsules) {
    yield line('IDP_SUBMITTED', { action_id: capsule.action_id })
    const { protectedBytes, signature } = sealCapsule(capsule, {
      statement: 'agent_action',
      kid: key.kid,
      sign: key.sign,
    })
    yield line('CAPSULE', {
      statement: 'agent_action',
      capsule,
      protected: Buffer.from(protectedBytes).toString('base64url'),
      signature: Buffer.from(signature).toString('base64url'),
    })
  }
}

export const numbered = (index: number): Capsule =>
  sampleCapsule({ action_id: `01890a5d-ac96-774b-bcce-${String(index).padStart(12, '0')}` })
