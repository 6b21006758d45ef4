import { type Members, signEvent } from '../core/journal/event.js'
import type { SignedType } from '../core/journal/signed-types.js'
import type { JournalEntry } from '../ports.js'
import type { Parts } from './stage.js'

/** An event of this gate, signed with its current event key. */
export const signed = (
  type: SignedType,
  members: Members,
  { journal, signer }: Pick<Parts, 'journal' | 'signer'>,
): JournalEntry =>
  signEvent({
    origin: journal.origin,
    type,
    members,
    kid: signer.kid('event'),
    sign: (message) => signer.sign('event', message),
  })
