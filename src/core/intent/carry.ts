import { base64url, fromBase64url } from '../bytes/base64url.js'
import { utf8 } from '../bytes/text.js'
import { type Declared, type DeclaredFault, MOST_INTENT_BYTES } from './model.js'

/** Characters of an `Agent-Intent` header (DESIGN §7). */
export const MOST_INTENT_HEADER = 8192

export type Carriers = {
  /** Values of `Agent-Intent` headers, in the order received. */
  readonly intents: readonly string[]
  /** Values of `Agent-Mandate` headers. */
  readonly mandates: readonly string[]
  /** What came in the message itself: MCP's `_meta`, the body of a transition. */
  readonly meta?: {
    /** The JSON text of the member, as it stood. */
    readonly intent?: string
    readonly mandate?: string
  }
}

type Got<T> = { readonly value: T | null } | { readonly fault: DeclaredFault }
const NOTHING = { value: null } as const

/**
 * The declaration and the mandate that a call brought; undefined where it brought neither. Two carriers of one
 * thing must say the same, because another reader might believe the other; what is faulty is not passed on.
 */
export function declaredOf({ intents, mandates, meta = {} }: Carriers): Declared | undefined {
  const intent = same(
    once(intents, 'intent_repeated', intentOctets),
    meta.intent === undefined ? NOTHING : octetsOf(meta.intent),
    base64url,
    'intent_carriers_differ',
  )
  const mandate = same(
    once(mandates, 'mandate_repeated', (value): Got<string> => ({ value })),
    { value: meta.mandate ?? null },
    (token) => token,
    'mandate_carriers_differ',
  )
  const fault = faultOf(intent) ?? faultOf(mandate)
  const [octets, token] = [held(intent), held(mandate)]
  if (fault === null && octets === null && token === null) return undefined
  return {
    kind: 'carried',
    intent: octets,
    mandate: token,
    ...(fault === null ? {} : { fault }),
  }
}

/** What an `Agent-Intent` header holds: base64url without padding, or a byte sequence of RFC 9651. */
export function intentOctets(header: string): Got<Uint8Array> {
  if (header.length > MOST_INTENT_HEADER) return { fault: 'intent_too_long' }
  const sequence = /^:([A-Za-z0-9+/]*)(={0,2}):$/.exec(header)
  const octets = sequence === null ? fromBase64url(header) : fromByteSequence(sequence)
  return octets === null || octets.length === 0 ? { fault: 'intent_encoding' } : { value: octets }
}

/** Padding may be left out (RFC 9651 §4.2.7), but not be wrong. */
function fromByteSequence([, text = '', padding = '']: RegExpExecArray): Uint8Array | null {
  if (padding !== '' && (text.length + padding.length) % 4 !== 0) return null
  return fromBase64url(text.replaceAll('+', '-').replaceAll('/', '_'))
}

function octetsOf(json: string): Got<Uint8Array> {
  // More characters than that are more octets.
  if (json.length > MOST_INTENT_BYTES) return { fault: 'intent_too_long' }
  const value = utf8(json)
  return value.length > MOST_INTENT_BYTES ? { fault: 'intent_too_long' } : { value }
}

function once<T>(
  values: readonly string[],
  repeated: DeclaredFault,
  decode: (value: string) => Got<T>,
): Got<T> {
  const [first] = values
  if (first === undefined) return NOTHING
  return values.length > 1 ? { fault: repeated } : decode(first)
}

function same<T>(
  header: Got<T>,
  beside: Got<T>,
  key: (value: T) => string,
  differ: DeclaredFault,
): Got<T> {
  if ('fault' in header) return header
  if ('fault' in beside || header.value === null) return beside
  if (beside.value === null) return header
  return key(header.value) === key(beside.value) ? header : { fault: differ }
}

const faultOf = <T>(got: Got<T>): DeclaredFault | null => ('fault' in got ? got.fault : null)
const held = <T>(got: Got<T>): T | null => ('fault' in got ? null : got.value)
