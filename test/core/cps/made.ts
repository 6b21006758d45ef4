import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { build, type CpsParts } from '../../../src/core/cps/build.js'
import type { BundleFiles } from '../../../src/core/cps/bundle.js'
import { type CpsSigner, type SealedText, sealText } from '../../../src/core/cps/seal.js'

/** Sealed capsules, chains and bundles, as an honest maker makes them. */
export const AT = '2026-11-19T12:00:00Z'

export function signer(): CpsSigner {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(12)
  return { publicKey: raw.toString('hex'), sign: (message) => sign(null, message, privateKey) }
}

const uuid = (of: string): string => {
  const digits = createHash('sha256').update(of).digest('hex')
  return [8, 4, 4, 4, 12].map((n, i) => digits.slice(i * 12, i * 12 + n)).join('-')
}

export const parts = (sequence: number, previous: string | null, more = {}): CpsParts => ({
  id: uuid(`${sequence}`),
  type: 'tool',
  sequence,
  previous_hash: previous,
  trigger: { type: 'agent', source: 'bot', timestamp: AT, request: 'create_refund' },
  outcome: { status: 'success', summary: `step ${sequence}`, result: { amount: 1.5 } },
  ...more,
})

export function canonicalOf(of: CpsParts): string {
  const built = build(of)
  if (!built.ok) throw new Error(`${built.code} ${built.field}`)
  return built.canonical
}

export function chainOf(length: number, by: CpsSigner, more = {}): SealedText[] {
  const chain: SealedText[] = []
  for (let n = 0; n < length; n++) {
    const previous = chain.at(-1)?.hash ?? null
    chain.push(sealText(canonicalOf(parts(n, previous, more)), by, AT, nodeCrypto))
  }
  return chain
}

type Chains = Readonly<Record<string, readonly SealedText[]>>
const summary = (id: string, chain: readonly SealedText[]) => ({
  id,
  length: chain.length,
  head_hash: chain.at(-1)?.hash ?? null,
  genesis_hash: chain[0]?.hash ?? null,
  all_hashes_ok: true,
})

/** A bundle with its meta-chain, as texts by file name; `tool-SESSION` names a chain. */
export function bundleOf(chains: Chains, by: CpsSigner): Map<string, string> {
  const meta: SealedText[] = []
  for (const [id, chain] of Object.entries(chains)) {
    const [tool = '', ...session] = id.split('-')
    const result = {
      kind: 'conversation_seal',
      tool,
      session_id: session.join('-'),
      head_hash: chain.at(-1)?.hash ?? '',
      capsule_count: chain.length,
    }
    const of = parts(meta.length, meta.at(-1)?.hash ?? null, {
      type: 'system',
      domain: 'meta',
      outcome: { status: 'success', result },
    })
    meta.push(sealText(canonicalOf(of), by, AT, nodeCrypto))
  }
  const fingerprint = by.publicKey.slice(0, 16)
  const files = new Map<string, string>()
  for (const [id, chain] of Object.entries(chains))
    files.set(`${id}.json`, JSON.stringify({ ...summary(id, chain), capsules: chain }))
  files.set('meta.json', JSON.stringify({ ...summary('meta', meta), capsules: meta }))
  files.set(
    'index.json',
    JSON.stringify({
      public_key: by.publicKey,
      fingerprint,
      keys: { [fingerprint]: by.publicKey },
      chain_count: Object.keys(chains).length,
      chains: Object.entries(chains).map(([id, chain]) => summary(id, chain)),
    }),
  )
  return files
}

export const filesOf = (files: ReadonlyMap<string, string>): BundleFiles => ({
  names: [...files.keys()],
  read: (name) => files.get(name) ?? null,
})
