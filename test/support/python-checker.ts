import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PublicKeyRecord } from '../../src/core/statement/keys.js'
import type { Finding } from '../../src/core/verify/finding.js'
import type { LedgerResult } from '../../src/core/verify/ledger.js'
import { type Missing, missingOpenssl, missingPython } from './needs.js'

/** examples/verify-python/verify.py on many journals at once, and whether it says what `verify` says. */
export const VERIFY_PY = join(
  import.meta.dirname,
  '..',
  '..',
  'examples',
  'verify-python',
  'verify.py',
)

export const missingPythonChecker = (): Missing => missingPython() ?? missingOpenssl()

export type PythonResult = {
  readonly file: string
  readonly status: 'whole' | 'broken' | 'cannot_tell'
  readonly findings: readonly {
    readonly line: number
    readonly code: string
    readonly detail: string
  }[]
  readonly head: { readonly upto: number; readonly time: string } | null
}

/** One process for all of them: it remembers which signatures it has checked. */
export async function checkWithPython(
  journals: readonly Uint8Array[],
  keyring: readonly PublicKeyRecord[],
  { head }: { readonly head?: string } = {},
): Promise<readonly PythonResult[]> {
  const dir = mkdtempSync(join(tmpdir(), 'verify-python-'))
  try {
    writeFileSync(join(dir, 'keyring.json'), JSON.stringify({ keys: keyring }))
    if (head !== undefined) writeFileSync(join(dir, 'head.json'), head)
    const names = journals.map((_, index) => String(index))
    journals.forEach((bytes, index) => {
      writeFileSync(join(dir, String(index)), bytes)
    })
    const given = head === undefined ? [] : ['--head', 'head.json']
    const args = [VERIFY_PY, '--keys', 'keyring.json', ...given, '--json', ...names]
    const child = spawn('python3', args, { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => {
      out += chunk
    })
    child.stderr.on('data', (chunk) => {
      err += chunk
    })
    const [code] = await once(child, 'close')
    const results: PythonResult[] = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line))
    const statuses = new Set(results.map(({ status }) => status))
    const expected = statuses.has('broken') ? 1 : statuses.has('cannot_tell') ? 3 : 0
    if (code !== expected || results.length !== journals.length)
      throw new Error(`verify.py ended with ${code} after ${results.length} journals: ${err}`)
    return results
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/** What verify.py checks too. Class 1, actions, halts and people have other codes. */
const SHARED =
  /^(not_strict_json|journal_.+|signature_.+|statement_type_mismatch|event_.+|head_.+|seal_.+|given_.+|commitment_signature)$/
/** The members of a line by its type, which verify.py reads of these three only. */
const isShape = ({ code, detail = '' }: Finding): boolean =>
  code === 'journal_line_malformed' &&
  /^[A-Z_]+: /.test(detail) &&
  !/^(HEAD|SEGMENT_SEALED|ADOPTED): /.test(detail)
/** A conclusion that is not there is no matter of verify.py. */
const isOpenAction = (why: string): boolean => why.includes('dispatched actions have no conclusion')

/** Null where both say the same, as far as verify.py checks; else why they do not. */
export function agreement(verified: LedgerResult, python: PythonResult): string | null {
  const { results, journal } = verified
  const errors = [...results.flatMap(({ findings }) => findings), ...(journal?.findings ?? [])]
    .filter(({ severity }) => severity === 'error')
    .filter(({ code }) => code !== 'signature_kid_unknown')
  const shared = errors.filter((finding) => SHARED.test(finding.code) && !isShape(finding))
  const complete = journal?.complete
  const open = complete?.ok === false ? complete.why.filter((why) => !isOpenAction(why)) : []
  const reasons = open.filter((why) => why !== 'it does not hold')
  const expected =
    journal === null || shared.length > 0 ? 'broken' : reasons.length > 0 ? 'cannot_tell' : 'whole'
  // A line with other members is not looked at any further by verify; its signature may be wrong too.
  const unread = errors.some(isShape) && python.status === 'broken'
  const say = (list: readonly { readonly code: string }[]): string =>
    [...new Set(list.map(({ code }) => code))].join(', ')
  if (python.status !== expected && !unread)
    return `verify: ${expected} (${say(errors)}; ${reasons.join('; ')}), verify.py: ${python.status} (${say(python.findings)})`
  if (
    complete?.ok === true &&
    (python.head?.upto !== complete.upto || python.head.time !== complete.time)
  )
    return `verify: head ${complete.upto}, verify.py: head ${python.head?.upto}`
  return null
}
