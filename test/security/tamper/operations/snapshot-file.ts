import { createHash } from 'node:crypto'
import { canonicalOf } from '../../../../src/core/json/build.js'
import { type Files, SNAPSHOT, withFile } from '../folder.js'

const LF = 10
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** Null for what another operation broke. */
export function readObject(text: string): { [name: string]: unknown } | null {
  try {
    return JSON.parse(text) as { [name: string]: unknown }
  } catch {
    return null
  }
}

/** The snapshot with another state, and a header that fits it: signed anew where there is a key to do it with. */
export function snapshotOf(
  files: Files,
  change: (header: { [name: string]: unknown }, state: string) => string,
  sign: ((message: Uint8Array) => { kid: string; sig: string }) | null,
): Files | null {
  const bytes = files.get(SNAPSHOT)
  const end = bytes?.indexOf(LF) ?? -1
  if (bytes === undefined || end < 0) return null
  const header = readObject(bytes.toString('utf8', 0, end))
  if (header === null || readObject(bytes.toString('utf8', end + 1)) === null) return null
  const state = change(header, bytes.toString('utf8', end + 1))
  header.state_sha256 = sha256(state)
  const { kid: _, sig: __, ...signed } = header
  const text = `capsule-gate/snapshot/v1\n${canonicalOf({ ...signed } as Parameters<typeof canonicalOf>[0])}`
  Object.assign(header, sign?.(Buffer.from(text)) ?? {})
  return withFile(files, SNAPSHOT, Buffer.from(`${JSON.stringify(header)}\n${state}`))
}
