/**
 * Entry `capsule-gate/cps`: capsules of the Capsule Protocol 1.0, made and verified without Node. Results are values;
 * nothing throws on any input.
 */
import { type Built, build, type CpsParts, type NotBuilt } from './core/cps/build.js'
import { type BundleFiles, type BundleResult, verifyBundleFiles } from './core/cps/bundle.js'
import { canonicalOf, type Input, MOST_DEPTH, type No } from './core/cps/canonical.js'
import { type ChainResult, createChain } from './core/cps/chain.js'
import type { CpsFinding, CpsProfile } from './core/cps/finding.js'
import type { CpsKey } from './core/cps/keys.js'
import { type CpsSigner, type SealedText, seal } from './core/cps/seal.js'
import { sealedOf } from './core/cps/sealed.js'
import { type CapsuleUri, parseCapsuleUri as parseUri } from './core/cps/uri.js'
import { type CpsValidation, validate } from './core/cps/validate.js'
import { type CpsResult, verifySealed } from './core/cps/verify.js'
import type { Crypto, Sha3 } from './core/crypto/crypto.js'
import { nobleCrypto } from './core/crypto/noble.js'
import { parse } from './core/json/parse.js'
import { isArray, toPlain } from './core/json/value.js'

export type { CpsOption, CpsParts, CpsToolCall } from './core/cps/build.js'
export type { BundleFiles, BundleFinding, BundleResult } from './core/cps/bundle.js'
export type { Input, No } from './core/cps/canonical.js'
export type { ChainFinding, ChainResult } from './core/cps/chain.js'
export type { CpsFinding, CpsProfile } from './core/cps/finding.js'
export type { CpsKey } from './core/cps/keys.js'
export type { CpsSigner, SealedText } from './core/cps/seal.js'
export type { CapsuleUri } from './core/cps/uri.js'
export type { CpsValidation } from './core/cps/validate.js'
export type { CpsResult } from './core/cps/verify.js'

type WithCrypto = {
  /** noble by default; pass `nodeCrypto` of `capsule-gate/crypto-node` where Node is. */
  readonly crypto?: Crypto & Sha3
}
export type CpsVerifyOptions = WithCrypto & {
  /** `strict`, the default, holds sections to CPS; `compat` to Anatomy. */
  readonly profile?: CpsProfile
  readonly keys: readonly CpsKey[]
  /** `compat` only: the key for signers that no key is known of. */
  readonly fallback?: CpsKey
  /** `cryptographic` is the default. */
  readonly level?: 'structural' | 'cryptographic'
  readonly requirePq?: boolean
}

const engine = ({ crypto = nobleCrypto }: WithCrypto = {}): Crypto & Sha3 => crypto
const settings = (options: Omit<CpsVerifyOptions, 'keys'>) => ({
  profile: options.profile ?? 'strict',
  level: options.level ?? 'cryptographic',
  requirePq: options.requirePq ?? false,
  crypto: engine(options),
  ...(options.fallback === undefined ? {} : { fallback: options.fallback }),
})

/** The canonical text of a document and its SHA3-256; of an object, without its seal. */
export const cpsCanonical = (
  json: Input,
  options?: WithCrypto,
): { readonly ok: true; readonly canonical: string; readonly hash: string } | No =>
  canonicalOf(json, engine(options))

export const buildCps = (parts: CpsParts): Built | NotBuilt => build(parts)

export const sealCps = (
  json: Input,
  signer: CpsSigner,
  signedAt: string,
  options?: WithCrypto,
): { readonly ok: true; readonly json: string; readonly seal: SealedText } | No =>
  seal(json, signer, signedAt, engine(options))

/** A capsule as a plain object, where it is whole; numbers are JavaScript's from here on. */
export function fromDict(
  json: Input,
  options: WithCrypto & { readonly profile?: CpsProfile } = {},
):
  | { readonly ok: true; readonly capsule: { readonly [name: string]: unknown } }
  | (No & { readonly findings: readonly CpsFinding[] }) {
  const { ok, findings } = validateCps(json, options)
  const parsed = ok ? parse(json, { maxDepth: MOST_DEPTH }) : null
  if (parsed?.ok === true) {
    return { ok: true, capsule: toPlain(parsed.value) as { readonly [name: string]: unknown } }
  }
  const first = findings.find(({ severity }) => severity === 'error')
  return { ok: false, code: first?.code ?? 'not_canonical', findings }
}

export const validateCps = (
  json: Input,
  {
    profile = 'strict',
    claimedHash,
    ...options
  }: WithCrypto & { readonly profile?: CpsProfile; readonly claimedHash?: string } = {},
): CpsValidation =>
  validate(json, {
    profile,
    crypto: engine(options),
    ...(claimedHash === undefined ? {} : { claimedHash }),
  })

/** One sealed capsule: a capsule with its seal among its members, or an entry of a bundle. */
export function verifyCps(json: Input, options: CpsVerifyOptions): CpsResult | No {
  const parsed = parse(json, { maxDepth: MOST_DEPTH })
  if (!parsed.ok) return { ok: false, code: parsed.code }
  const sealed = sealedOf(parsed.value)
  return sealed === null
    ? { ok: false, code: 'not_canonical' }
    : verifySealed(sealed, { ...settings(options), keys: options.keys })
}

/** A chain: a JSON array of sealed capsules, or each as a text of its own. */
export function verifyCpsChain(
  chain: Input | Iterable<Input>,
  options: CpsVerifyOptions,
): ChainResult | No {
  const read = createChain({ ...settings(options), keys: options.keys })
  if (typeof chain !== 'string' && !(chain instanceof Uint8Array)) {
    for (const json of chain) {
      const parsed = parse(json, { maxDepth: MOST_DEPTH })
      read.add(parsed.ok ? sealedOf(parsed.value) : null)
    }
    return read.end()
  }
  const parsed = parse(chain, { maxDepth: MOST_DEPTH })
  if (!parsed.ok) return { ok: false, code: parsed.code }
  if (!isArray(parsed.value)) return { ok: false, code: 'not_an_array' }
  for (const each of parsed.value) read.add(sealedOf(each))
  return read.end()
}

/** An export as a whole. Without keys its own are used, which says nothing of who signed. */
export const verifyBundle = (
  files: BundleFiles,
  options: Omit<CpsVerifyOptions, 'keys'> & { readonly keys?: readonly CpsKey[] } = {},
): BundleResult => verifyBundleFiles(files, { ...settings(options), keys: options.keys ?? null })

/** Null: it is no reference to a capsule. */
export const parseCapsuleUri = (uri: string): CapsuleUri | null => parseUri(uri)
