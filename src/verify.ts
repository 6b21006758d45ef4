/**
 * Entry `capsule-gate/verify`: everything an auditor needs, offline and without Node. Results are
 * values; nothing throws on any input, and every result names what it did not check.
 */

import { utf8 } from './core/bytes/text.js'
import type { Crypto } from './core/crypto/crypto.js'
import { nobleCrypto } from './core/crypto/noble.js'
import { parseSourced } from './core/json/parse.js'
import type { PublicKeyRecord } from './core/statement/keys.js'
import { storeView } from './core/verify/chain.js'
import { address, class1 } from './core/verify/class1.js'
import { type DisclosureResult, disclosure } from './core/verify/disclosure.js'
import { type Class1Result, type Profile, refused } from './core/verify/finding.js'
import {
  type LedgerEnd,
  LedgerReader,
  type LedgerResult,
  ledger,
  readUnit,
} from './core/verify/ledger.js'
import { verifyStatement as checkStatement, type StatementResult } from './core/verify/statement.js'
import { cutter, type Unit } from './core/verify/units.js'

export type { Crypto } from './core/crypto/crypto.js'
export type { PublicKeyRecord } from './core/statement/keys.js'
export { verifySign1 } from './core/statement/verify-sign1.js'
export type { DisclosureResult } from './core/verify/disclosure.js'
export type { Class1Result, Finding, Profile } from './core/verify/finding.js'
export type { Complete, JournalResult } from './core/verify/journal/journal.js'
export type { LedgerEnd, LedgerResult } from './core/verify/ledger.js'
export type { StatementResult } from './core/verify/statement.js'

export type VerifyOptions = {
  /** `strict`, the default, holds a capsule to the seed's whole text; `compat` to its eight checks. */
  readonly profile?: Profile
  /** Ids of the capsules the producer holds; without it chain parents are not looked up. */
  readonly store?: ReadonlySet<string>
  /** noble by default; pass `nodeCrypto` of `capsule-gate/crypto-node` where Node is. */
  readonly crypto?: Crypto
}
export type LedgerVerifyOptions = VerifyOptions & {
  readonly keys?: readonly PublicKeyRecord[]
  /** A head of the journal seen elsewhere, or several: JSON objects, one per line. The newest one counts. */
  readonly head?: string
  /** The seal lines of archived segments, from the first on, where the journal goes on behind them. */
  readonly seals?: readonly string[]
}
export type StatementVerifyOptions = VerifyOptions & {
  readonly keys: readonly PublicKeyRecord[]
  /** A key known beforehand, for statements of other makers that carry no kid. */
  readonly pinned?: PublicKeyRecord
}

/** Text or bytes of this realm, whatever came: a page's frame has a Uint8Array of its own. */
function taken(input: unknown): string | Uint8Array {
  if (typeof input === 'string' || input instanceof Uint8Array) return input
  if (!ArrayBuffer.isView(input)) return ''
  return new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
}
const takenBytes = (input: unknown): Uint8Array => {
  const own = taken(input)
  return typeof own === 'string' ? new Uint8Array() : own
}

const LONE_SURROGATE = /\p{Surrogate}/u

const settled = ({ profile, crypto }: VerifyOptions) => ({
  profile: profile ?? 'strict',
  crypto: crypto ?? nobleCrypto,
})

export function verifyCapsule(
  input: string | Uint8Array,
  options: VerifyOptions = {},
): Class1Result {
  const read = parseSourced(taken(input))
  if (!read.ok) return refused(1, 'not_strict_json', `${read.code} at ${read.at}`)
  const chain = options.store === undefined ? null : storeView(options.store)
  const settings = settled(options)
  const addressed = address(read.value, settings.crypto, read.source)
  return class1(read.value, { ...settings, chain, signed: false }, addressed)
}

/** A JSON array, JSON Lines, or the lines of a gate's journal. */
export function verifyLedger(
  input: string | Uint8Array,
  options: LedgerVerifyOptions = {},
): LedgerResult {
  // Encoding would put U+FFFD where a lone surrogate stands: another text than the one given.
  if (typeof input === 'string' && LONE_SURROGATE.test(input))
    return {
      results: [refused(1, 'not_strict_json', 'lone_surrogate')],
      open_items: [],
      journal: null,
    }
  const bytes = typeof input === 'string' ? utf8(input) : takenBytes(input)
  return ledger(bytes, { ...options, ...settled(options) })
}

/**
 * The same as the bytes come, holding one record and the ids: a parent must stand before its child in
 * either profile. The generator returns the open items and, of a journal, the answer about it as a whole.
 */
export async function* verifyLedgerStream(
  input: AsyncIterable<Uint8Array>,
  options: LedgerVerifyOptions = {},
): AsyncGenerator<Class1Result, LedgerEnd> {
  const reader = new LedgerReader({ ...options, ...settled(options) })
  const cut = cutter()
  const results = function* (units: readonly Unit[]): Generator<Class1Result> {
    for (const unit of units) {
      const result = readUnit(unit, reader)
      if (result !== null) yield result
    }
  }
  for await (const chunk of input) yield* results(cut.push(takenBytes(chunk)))
  yield* results(cut.end())
  return reader.end()
}

export async function verifyStatement(
  cose: Uint8Array,
  options: StatementVerifyOptions,
): Promise<StatementResult> {
  const { keys, pinned, store } = options
  const { profile, crypto } = settled(options)
  const chain = store === undefined ? null : storeView(store)
  return checkStatement(takenBytes(cose), { profile, crypto, keys, pinned, chain })
}

export function verifyDisclosure(
  input: string | Uint8Array,
  options: VerifyOptions = {},
): DisclosureResult {
  return disclosure(taken(input), settled(options))
}
