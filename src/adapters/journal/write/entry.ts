import { base64url } from '../../../core/bytes/base64url.js'
import { GateError } from '../../../core/error.js'
import { entryFault } from '../../../core/journal/line.js'
import { signVerification } from '../../../core/journal/verification.js'
import { signStatement } from '../../../core/statement/sign.js'
import type { Appended } from '../../../ports/journal.js'
import type { Signer } from '../../../ports/signer.js'
import { type Listed, listedOf } from '../index/listed.js'
import type { DriverEntry, WrittenEntry } from '../model.js'

/** An entry whose members were read where they were at hand: another thread has its text only. */
export type HandedEntry = DriverEntry & { readonly listed?: Listed | null }

/** An entry as it will stand in its line, and what the capsule list keeps of it. */
export type SignedEntry = Pick<WrittenEntry, 'type' | 'json'> &
  Pick<Appended, 'sealed'> & { readonly listed: Listed | null }

/** Why one of them cannot stand in a line; null when all can. */
export function entriesFault(entries: readonly DriverEntry[]): GateError | null {
  for (const { type, json, members } of entries) {
    const fault = entryFault(type, json, members)
    if (fault !== null) return new GateError('bad_entry', `${type}: ${fault}`)
  }
  return null
}

/** The text is read once, for the check and for the capsule list; the check says why it cannot be. */
export function withMembers(entry: HandedEntry): HandedEntry {
  if (entry.members !== undefined) return entry
  try {
    return { ...entry, members: JSON.parse(entry.json) }
  } catch {
    return entry
  }
}

/** Header and signature in one turn: no rotation can come between them. */
export function signEntry(entry: HandedEntry, signer: Signer): SignedEntry {
  const { type, members, json, listed = listedOf(type, () => members ?? JSON.parse(json)) } = entry
  if ('verifies' in entry) {
    const record = signVerification(entry.verifies, {
      kid: signer.kid('event'),
      sign: (message) => signer.sign('event', message),
    })
    const text = `${json.slice(0, -1)},"record":${JSON.stringify(record)}}`
    return { type, json: text, listed, sealed: { record } }
  }
  if (!('seal' in entry)) return { type, json, listed }
  const { payload, statement } = entry.seal
  const made = signStatement(entry.seal, {
    kid: signer.kid('statement'),
    sign: (message) => signer.sign('statement', message),
  })
  const sealed = {
    protected: base64url(made.protectedBytes),
    signature: base64url(made.signature),
  }
  // The capsule stands in the line as the very bytes that were signed.
  const head = `{"capsule":${payload},"statement":"${statement}","protected":"${sealed.protected}","signature":"${sealed.signature}"`
  return { type, json: json === '{}' ? `${head}}` : `${head},${json.slice(1)}`, listed, sealed }
}
