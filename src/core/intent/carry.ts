import { fromBase64url } from '../bytes/base64url.js'
import { utf8 } from '../bytes/text.js'
import { type Declared, type DeclaredFault, MOST_INTENT_BYTES } from './model.js'

/** What of a call may carry its declaration and its mandate, as it was received (DESIGN §7). */
export type Carriers = {
  /** Values of Agent-Intent, in received order. */
  readonly intents: readonly string[]
  /** Values of Agent-Mandate, in received order. */
  readonly mandates: readonly string[]
  /** What came beside the headers: the declaration's own JSON text, and the mandate. */
  readonly meta?: { readonly intent?: string; readonly mandate?: string }
}

/** Undefined where nothing was carried. Two carriers of one thing must be identical once they are decoded. */
export function declaredOf({ intents, mandates, meta = {} }: Carriers): Declared | undefined {
  const { intent: said, mandate: named } = meta
  if (intents.length === 0 && mandates.length === 0 && said === undefined && named === undefined) {
    return undefined
  }
  const intent = intentOf(intents, said)
  const mandate = mandateOf(mandates, named)
  const fault = intent.fault ?? mandate.fault
  return {
    kind: 'carried',
    intent: intent.value,
    mandate: mandate.value,
    ...(fault === null ? {} : { fault }),
  }
}

type Read<T> = { readonly value: T | null; readonly fault: DeclaredFault | null }
const unusable = (fault: DeclaredFault): Read<never> => ({ value: null, fault })
const read = <T>(value: T | null): Read<T> => ({ value, fault: null })

/** Characters of base64url that hold as many octets as a declaration may have. */
const MOST_ENCODED = Math.ceil((MOST_INTENT_BYTES * 4) / 3)

function intentOf([first, second]: readonly string[], said: string | undefined): Read<Uint8Array> {
  if (second !== undefined) return unusable('intent_repeated')
  if ((first ?? '').length > MOST_ENCODED) return unusable('intent_too_long')
  const header = first === undefined ? undefined : fromBase64url(first)
  if (header === null) return unusable('intent_encoding')
  const member = said === undefined ? undefined : utf8(said)
  if ((member ?? '').length > MOST_INTENT_BYTES) return unusable('intent_too_long')
  if (header !== undefined && member !== undefined && !isSame(header, member)) {
    return unusable('intent_carriers_differ')
  }
  return read(header ?? member ?? null)
}

function mandateOf([first, second]: readonly string[], named: string | undefined): Read<string> {
  if (second !== undefined) return unusable('mandate_repeated')
  if (first !== undefined && named !== undefined && first !== named) {
    return unusable('mandate_carriers_differ')
  }
  return read(first ?? named ?? null)
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((octet, index) => octet === b[index])
