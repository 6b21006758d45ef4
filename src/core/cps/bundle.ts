import { parse } from '../json/parse.js'
import { isArray, isObject, JsonNumber, type JsonObject, type JsonValue } from '../json/value.js'
import { type Input, MOST_DEPTH } from './canonical.js'
import { type ChainFinding, type ChainResult, createChain } from './chain.js'
import { type CpsKey, keyFault } from './keys.js'
import { sealedOf } from './sealed.js'
import type { VerifyOptions } from './verify.js'

export type BundleCode =
  | 'index_unreadable'
  | 'key_malformed'
  /** A key of the bundle does not begin with its fingerprint. */
  | 'key_fingerprint'
  /** A key of the bundle is not among those that were given. */
  | 'key_not_given'
  | 'chain_missing'
  | 'chain_unreadable'
  /** A file that the index does not name. */
  | 'chain_unlisted'
  /** What the index or the file says of a chain is not what its capsules are. */
  | 'summary_mismatch'
  | 'meta_missing'
  /** A capsule of the meta-chain seals no chain. */
  | 'meta_malformed'
  /** A chain was sealed that is not here, or is another or longer or shorter one here. */
  | 'meta_mismatch'
  /** A chain that the meta-chain does not seal. */
  | 'chain_unsealed'
  | 'chain_sealed_twice'
export type BundleFinding =
  | { readonly code: BundleCode; readonly chain: string | null; readonly field?: string }
  | (ChainFinding & { readonly chain: string })
export type BundleResult = {
  readonly ok: boolean
  readonly findings: readonly BundleFinding[]
  readonly chains: number
  readonly capsules: number
  /** `bundle`: none were given, and its own were used; a bundle that somebody else signed again passes. */
  readonly keys: 'given' | 'bundle'
  readonly not_checked: readonly string[]
}
/** Files by name: `index.json`, `meta.json`, and `ID.json` for each chain. */
export type BundleFiles = {
  readonly names: readonly string[]
  read(name: string): Input | null
}
type Summary = {
  readonly id: string
  readonly length: JsonValue | undefined
  readonly head: JsonValue | undefined
}

const META = 'meta'

/** A whole export (Anatomy, bundle and meta-chain): keys, every chain, what is said of them, and what seals them. */
export function verifyBundleFiles(
  files: BundleFiles,
  /** Without keys those of the bundle are used. */
  options: VerifyOptions,
): BundleResult {
  const findings: BundleFinding[] = []
  const fault = (code: BundleCode, chain: string | null, field?: string): void =>
    void findings.push(field === undefined ? { code, chain } : { code, chain, field })
  const index = objectIn(files.read('index.json'))
  if (index === null) fault('index_unreadable', null)
  const own = index === null ? [] : keysOf(index, fault)
  const { keys: given } = options
  if (given !== null)
    for (const { publicKey } of own)
      if (!given.some((key) => key.publicKey === publicKey)) fault('key_not_given', null, publicKey)
  const keys = given ?? own
  const unchecked = new Set<string>(given === null ? ['signers'] : [])

  const chains = new Map<string, ChainResult>()
  let capsules = 0
  function verifyFile(id: string): ChainResult | null {
    const name = `${id}.json`
    const file = files.names.includes(name) ? objectIn(files.read(name)) : null
    if (file === null) {
      fault(files.names.includes(name) ? 'chain_unreadable' : 'chain_missing', id)
      return null
    }
    const entries = file.get('capsules')
    const chain = createChain({ ...options, keys })
    for (const entry of isArray(entries) ? entries : []) chain.add(sealedOf(entry))
    if (!isArray(entries)) fault('chain_unreadable', id, 'capsules')
    const result = chain.end()
    for (const finding of result.findings) findings.push({ ...finding, chain: id })
    for (const each of result.not_checked) unchecked.add(each)
    compare(file, id, result)
    capsules += result.length
    return result
  }
  function compare(said: JsonObject, id: string, { length, head }: ChainResult): void {
    if (numberOf(said.get('length')) !== length) fault('summary_mismatch', id, 'length')
    if ((said.get('head_hash') ?? null) !== head) fault('summary_mismatch', id, 'head_hash')
  }

  for (const summary of summariesOf(index)) {
    if (chains.has(summary.id)) {
      fault('summary_mismatch', summary.id, 'chains')
      continue
    }
    const result = verifyFile(summary.id)
    if (result === null) continue
    chains.set(summary.id, result)
    if (numberOf(summary.length) !== result.length)
      fault('summary_mismatch', summary.id, 'index.length')
    if ((summary.head ?? null) !== result.head)
      fault('summary_mismatch', summary.id, 'index.head_hash')
  }
  for (const name of files.names) {
    const id = /^(.+)\.json$/.exec(name)?.[1]
    if (id !== undefined && id !== 'index' && id !== META && !chains.has(id))
      fault('chain_unlisted', id)
  }
  checkMeta(files, chains, verifyFile, fault)
  return {
    ok: findings.length === 0,
    findings,
    chains: chains.size,
    capsules,
    keys: given === null ? 'bundle' : 'given',
    not_checked: [...unchecked],
  }
}

type Fault = (code: BundleCode, chain: string | null, field?: string) => void

/** Each capsule of it seals one chain, by its head and its number of capsules. */
function checkMeta(
  files: BundleFiles,
  chains: ReadonlyMap<string, ChainResult>,
  verifyFile: (id: string) => ChainResult | null,
  fault: Fault,
): void {
  if (!files.names.includes('meta.json')) {
    fault('meta_missing', META)
    return
  }
  verifyFile(META)
  const sealed = new Set<string>()
  const entries = objectIn(files.read('meta.json'))?.get('capsules')
  for (const entry of isArray(entries) ? entries : []) {
    const seal = conversationSeal(sealedOf(entry)?.content)
    if (seal === null) {
      fault('meta_malformed', META)
      continue
    }
    const { id, head, count } = seal
    if (sealed.has(id)) fault('chain_sealed_twice', id)
    sealed.add(id)
    const chain = chains.get(id)
    if (chain === undefined) fault('meta_mismatch', id, 'missing')
    else if (chain.head !== head) fault('meta_mismatch', id, 'head_hash')
    else if (chain.length !== count) fault('meta_mismatch', id, 'capsule_count')
  }
  for (const id of chains.keys()) if (!sealed.has(id)) fault('chain_unsealed', id)
}

function conversationSeal(content: JsonObject | undefined) {
  const outcome = content?.get('outcome')
  const result = isObject(outcome) ? outcome.get('result') : undefined
  if (!isObject(result) || result.get('kind') !== 'conversation_seal') return null
  const [tool, session, head] = ['tool', 'session_id', 'head_hash'].map((name) => result.get(name))
  const count = numberOf(result.get('capsule_count'))
  if (typeof tool !== 'string' || typeof session !== 'string') return null
  if (typeof head !== 'string' || count === null) return null
  return { id: `${tool}-${session}`, head, count }
}

function keysOf(index: JsonObject, fault: Fault): CpsKey[] {
  const ring = index.get('keys')
  const own: JsonValue | undefined = index.get('public_key')
  const named: [string | null, JsonValue | undefined][] = isObject(ring) ? [...ring] : []
  const fingerprint = index.get('fingerprint')
  if (own !== undefined) named.unshift([typeof fingerprint === 'string' ? fingerprint : null, own])
  const keys: CpsKey[] = []
  for (const [name, value] of named) {
    const key = { publicKey: typeof value === 'string' ? value : '' }
    if (keyFault(key) !== null) fault('key_malformed', null, name ?? 'public_key')
    else if (name !== null && !key.publicKey.startsWith(name)) fault('key_fingerprint', null, name)
    else if (name?.length === 16 || name === null) keys.push(key)
    else fault('key_fingerprint', null, name)
  }
  return keys
}

function summariesOf(index: JsonObject | null): Summary[] {
  const listed = index?.get('chains')
  return (isArray(listed) ? listed : []).flatMap((each) => {
    const id = isObject(each) ? each.get('id') : undefined
    return isObject(each) && typeof id === 'string'
      ? [{ id, length: each.get('length'), head: each.get('head_hash') }]
      : []
  })
}

function objectIn(input: Input | null): JsonObject | null {
  const parsed =
    input === null ? null : parse(input, { maxDepth: MOST_DEPTH, maxBytes: MOST_BYTES })
  return parsed?.ok === true && isObject(parsed.value) ? parsed.value : null
}
/** Of one file of a bundle. */
const MOST_BYTES = 512 * 1024 * 1024

const numberOf = (value: JsonValue | undefined): number | null =>
  value instanceof JsonNumber && /^(?:0|[1-9][0-9]{0,15})$/.test(value.token)
    ? Number(value.token)
    : null
