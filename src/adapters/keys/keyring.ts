import { join } from 'node:path'
import { GateError } from '../../core/error.js'
import { type PublicKeyRecord, parseKeyring } from '../../core/statement/keys.js'
import type { SigningPurpose } from '../../ports/signer.js'
import { ifThereSync } from '../disk/errno.js'
import { readdirSync, readFileSync } from '../disk/files.js'
import { replaceFileSync } from '../disk/replace-file.js'
import { destroy } from './files.js'

/**
 * A key directory: `keyring.json` holds every public key of every epoch, and doubles as the keyring an
 * auditor gets; `PURPOSE-EPOCH.key` holds the private half of each active one. The keyring decides: a
 * private file it does not call active is a remnant of a crash.
 */
export const PURPOSES: readonly SigningPurpose[] = ['statement', 'event', 'webhook']
/** Capsules of the Capsule Protocol are sealed with a key that signs nothing else; it is made when it is wanted. */
export type OwnPurpose = SigningPurpose | 'cps'

/** A seam per durable step, so that a test can end the process exactly there. */
export type KeyStep =
  | 'private_temporary'
  | 'private_written'
  | 'keyring_temporary'
  | 'keyring_written'
  | 'private_overwritten'
  | 'private_destroyed'

export type OwnKey = PublicKeyRecord & {
  readonly purpose: OwnPurpose
  readonly epoch: number
  readonly valid_from: string
}

const OWN_FILE =
  /^(?:(?:statement|event|webhook|cps)-[1-9][0-9]*\.key(?:\.tmp)?|keyring\.json\.tmp)$/

export const keyringPath = (dir: string): string => join(dir, 'keyring.json')
export const privateName = (key: Pick<OwnKey, 'purpose' | 'epoch'>): string =>
  `${key.purpose}-${key.epoch}.key`
export const privatePath = (dir: string, key: Pick<OwnKey, 'purpose' | 'epoch'>): string =>
  join(dir, privateName(key))

/** All epochs, oldest first. */
export function listKeys(dir: string): readonly OwnKey[] {
  const path = keyringPath(dir)
  const text = ifThereSync(() => readFileSync(path, 'utf8'))
  if (text === null) {
    throw new GateError('missing', `${path} is missing: run  capsule-gate keys create`)
  }
  const read = parseKeyring(text)
  if (!read.ok) throw new GateError('damaged', `${path}: ${read.path} ${read.detail}`)
  const keys = read.keys.map((key) => own(key, path))
  const added = keys.some(({ purpose }) => purpose === 'cps') ? (['cps'] as const) : []
  for (const purpose of [...PURPOSES, ...added]) {
    if (keys.filter(isActive(purpose)).length !== 1) {
      throw new GateError('damaged', `${path}: not exactly one active ${purpose} key`)
    }
  }
  return keys
}

/** What an auditor is given: public halves only. */
export const exportKeyring = (dir: string): { readonly keys: readonly PublicKeyRecord[] } => ({
  keys: listKeys(dir),
})

const isActive =
  (purpose: OwnPurpose) =>
  (key: OwnKey): boolean =>
    key.purpose === purpose && key.status === 'active'

export const activeKey = (keys: readonly OwnKey[], purpose: OwnPurpose): OwnKey => {
  const found = keys.find(isActive(purpose))
  if (found === undefined) throw new GateError('damaged', `no active ${purpose} key`)
  return found
}

export function writeKeyring(
  dir: string,
  keys: readonly OwnKey[],
  onStep: (step: KeyStep) => void,
): void {
  replaceFileSync(keyringPath(dir), `${JSON.stringify({ keys }, null, 2)}\n`, 0o644, () =>
    onStep('keyring_temporary'),
  )
  onStep('keyring_written')
}

/** Only under the lock: a file that is not named yet may belong to a rotation under way. */
export function destroyRemnants(dir: string, keys: readonly OwnKey[]): void {
  const wanted = new Set(keys.filter((key) => key.status === 'active').map(privateName))
  for (const name of readdirSync(dir)) {
    if (OWN_FILE.test(name) && !wanted.has(name)) destroy(join(dir, name))
  }
}

function own(key: PublicKeyRecord, path: string): OwnKey {
  const { purpose, epoch, valid_from } = key
  if (purpose === 'log' || epoch === undefined || epoch < 1 || valid_from === undefined) {
    throw new GateError('damaged', `${path}: key ${key.kid} is not one this directory made`)
  }
  return { ...key, purpose, epoch, valid_from }
}
