import { join } from 'node:path'
import { fingerprintOf } from '../../core/cps/keys.js'
import { readCpsKeys } from '../../core/cps/read-keys.js'
import { GateError } from '../../core/error.js'
import { ifThereSync } from '../disk/errno.js'
import { readFileSync } from '../disk/files.js'
import { replaceFileSync } from '../disk/replace-file.js'
import { exclusively, refuseOpenDirectory } from './files.js'
import { listKeys } from './keyring.js'

/** Public keys of chains that others sealed (Anatomy, bundle): fingerprints with their keys, in `known.json`. */
const knownPath = (dir: string): string => join(dir, 'known.json')

export type KnownKey = { readonly fingerprint: string; readonly publicKey: string }

export function knownKeys(dir: string): readonly KnownKey[] {
  const path = knownPath(dir)
  const text = ifThereSync(() => readFileSync(path, 'utf8'))
  if (text === null || text.trim() === '{}') return []
  const read = readCpsKeys(text)
  if (!read.ok) throw new GateError('damaged', `${path}: ${read.path} ${read.detail}`)
  return read.keys.map((key) => ({ fingerprint: fingerprintOf(key), publicKey: key.publicKey }))
}

/** The caller has seen that it is a key. A fingerprint names one key (CPS, key management): another one with the same is refused. False: it is known. */
export async function addKnownKey(dir: string, publicKey: string): Promise<boolean> {
  refuseOpenDirectory(dir)
  return exclusively(dir, () => {
    const known = knownKeys(dir)
    const fingerprint = fingerprintOf({ publicKey })
    const own = listKeys(dir).map(({ public_key }) => public_key)
    const all = [...own, ...known.map((key) => key.publicKey)]
    if (all.includes(publicKey)) return false
    if (all.some((key) => key.startsWith(fingerprint))) {
      throw new GateError('exists', `${fingerprint} is the fingerprint of another key here`)
    }
    write(dir, [...known, { fingerprint, publicKey }])
    return true
  })
}

/** False: it was not known. */
export async function removeKnownKey(dir: string, fingerprint: string): Promise<boolean> {
  refuseOpenDirectory(dir)
  return exclusively(dir, () => {
    const known = knownKeys(dir)
    const left = known.filter((key) => key.fingerprint !== fingerprint)
    if (left.length === known.length) return false
    write(dir, left)
    return true
  })
}

function write(dir: string, keys: readonly KnownKey[]): void {
  const entries = keys.map(({ fingerprint, publicKey }) => [fingerprint, publicKey])
  const text = `${JSON.stringify(Object.fromEntries(entries), null, 2)}\n`
  replaceFileSync(knownPath(dir), text, 0o644, () => undefined)
}
