import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { Capsule } from '../../src/core/capsule/model.js'
import { sampleCapsule } from '../core/statement/sample.js'
import { SMALLEST } from '../support/lines.js'
import { type JournalKeys, type SealedJournal, sealedJournal } from '../support/sealed-journal.js'

/** The built command. */
export const MAIN = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')
export type Ran = { readonly code: number | null; readonly out: string; readonly err: string }

/** The built command in its own process, as a user runs it. */
export async function cli(
  args: readonly string[],
  options: {
    stdin?: string | Readable
    cwd?: string
    node?: readonly string[]
    /** Instead of this process's own. */
    env?: NodeJS.ProcessEnv
  } = {},
): Promise<Ran> {
  const child = spawn(process.execPath, [...(options.node ?? []), MAIN, ...args], {
    cwd: options.cwd,
    env: { PATH: process.env.PATH, ...(options.env ?? process.env), NO_COLOR: '' },
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

/** `serve` in a process of its own for as long as `use` runs; it has stopped after. */
export async function serving<T>(
  args: readonly string[],
  cwd: string,
  use: (url: string) => Promise<T>,
): Promise<T> {
  const child = spawn(process.execPath, [MAIN, 'serve', ...args, '--port', '0'], {
    cwd,
    env: { ...process.env, GATE_LISTENERS__ADMIN__PORT: '0' },
  })
  const ended = once(child, 'close')
  try {
    let err = ''
    child.stdout.resume()
    const url = await new Promise<string>((resolve, reject) => {
      child.stderr.on('data', (chunk) => {
        err += chunk
        const [, found] = /agents connect to +(\S+)\n/.exec(err) ?? []
        if (found !== undefined) resolve(found)
      })
      child.on('close', () => reject(new Error(`serve ended: ${err}`)))
    })
    return await use(url)
  } finally {
    child.kill('SIGTERM')
    await ended
  }
}

/** A gate's journal of these capsules, signed for real: a batch of a dispatch, its capsule and a head for each. */
export function journalOf(capsules: Iterable<Capsule>, keys: JournalKeys): SealedJournal {
  const journal = sealedJournal({ keys })
  for (const capsule of capsules) {
    const { action_id, effect } = capsule
    const request_digest = effect?.request_digest ?? SMALLEST.ACTION_DISPATCHED.request_digest
    const members = { ...SMALLEST.ACTION_DISPATCHED, action_id, request_digest }
    journal.write(journal.event('ACTION_DISPATCHED', members), journal.capsule(capsule))
  }
  return journal
}

export const numbered = (index: number): Capsule =>
  sampleCapsule({ action_id: `01890a5d-ac96-774b-bcce-${String(index).padStart(12, '0')}` })
