import type { SignedEntry } from '../core/journal/entry.js'
import { signEvent } from '../core/journal/event.js'
import type { MembersOf, SignedType } from '../core/journal/vocabulary.js'
import type { Parts } from './context.js'

/** An event of this gate, signed with its current event key. */
export const signed = <T extends SignedType>(
  type: T,
  members: MembersOf<T>,
  { journal, signer }: Pick<Parts, 'journal' | 'signer'>,
): SignedEntry<T> =>
  signEvent({
    origin: journal.origin,
    type,
    members,
    kid: signer.kid('event'),
    sign: (message) => signer.sign('event', message),
  })
