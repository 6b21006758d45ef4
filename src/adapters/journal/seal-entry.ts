import { base64url } from '../../core/base64url.js'
import { sealStatement } from '../../core/statement/seal.js'
import type { Appended, Signer } from '../../ports.js'
import type { DriverEntry, WrittenEntry } from './model.js'

/** An entry as it will stand in its line, and what sealing added to it. */
export type SealedEntry = WrittenEntry & Pick<Appended, 'sealed'>

/** Header and signature in one turn: no rotation can come between them. */
export function sealEntry(entry: DriverEntry, signer: Signer): SealedEntry {
  if (!('seal' in entry)) return entry
  const { payload, statement } = entry.seal
  const made = sealStatement(entry.seal, {
    kid: signer.kid('statement'),
    sign: (message) => signer.sign('statement', message),
  })
  const sealed = {
    protected: base64url(made.protectedBytes),
    signature: base64url(made.signature),
  }
  // The capsule stands in the line as the very bytes that were signed.
  const head = `{"capsule":${payload},"statement":"${statement}","protected":"${sealed.protected}","signature":"${sealed.signature}"`
  return {
    type: entry.type,
    json: entry.json === '{}' ? `${head}}` : `${head},${entry.json.slice(1)}`,
    ...(entry.members === undefined ? {} : { members: entry.members }),
    sealed,
  }
}
