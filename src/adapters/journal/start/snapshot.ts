import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { base64url } from '../../../core/bytes/base64url.js'
import { hex } from '../../../core/bytes/hex.js'
import { utf8 } from '../../../core/bytes/text.js'
import { checkSignature } from '../../../core/journal/event.js'
import { looselyRead } from '../../../core/journal/head.js'
import type { LineVersion } from '../../../core/journal/line.js'
import { canonicalOf } from '../../../core/json/build.js'
import { anyText, count, digest, type Of, record } from '../../../core/json/shape.js'
import type { Plain } from '../../../core/json/value.js'
import type { PublicKeyRecord } from '../../../core/statement/keys.js'
import type { Head } from '../../../ports/journal.js'
import type { Signer } from '../../../ports/signer.js'
import { nodeCrypto } from '../../crypto-node.js'
import { ifThere } from '../../disk/errno.js'
import { readFile } from '../../disk/files.js'
import { replaceFile } from '../../disk/replace-file.js'

/**
 * The fold's state at one head (DESIGN §5): a signed header naming (origin, seq and hash of the head line) and the
 * state's digest, then the state as JSON. Only a way to boot faster: whatever is wrong with it, the journal decides.
 */
export type Snapshot = Pick<Header, 'v' | 'seq' | 'head'> & { readonly state: Plain }

const DOMAIN = 'capsule-gate/snapshot/v1\n'
const LF = 10

const headerShape = record({
  origin: anyText,
  seq: count,
  head: digest,
  state_sha256: digest,
  kid: anyText,
  sig: anyText,
})
/** `v` is the version of the journal lines it stands for. */
type SignedHeader = Of<typeof headerShape> & { readonly v: LineVersion }
type Header = Omit<SignedHeader, 'kid' | 'sig'>

const path = (dir: string): string => join(dir, 'snapshot')
const signedBytes = ({ v, origin, seq, head, state_sha256 }: Header): Uint8Array =>
  utf8(`${DOMAIN}${canonicalOf({ v, origin, seq, head, state_sha256 })}`)
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

export async function writeSnapshotFile(
  dir: string,
  origin: string,
  signer: Signer,
  at: Head,
  state: Plain,
): Promise<void> {
  const body = Buffer.from(JSON.stringify(state))
  const header: Header = { v: 2, origin, seq: at.seq, head: at.hash, state_sha256: sha256(body) }
  const kid = hex(signer.kid('event'))
  const sig = base64url(signer.sign('event', signedBytes(header)))
  const first = Buffer.from(`${JSON.stringify({ ...header, kid, sig })}\n`)
  await replaceFile(path(dir), Buffer.concat([first, body]))
}

export type SnapshotRead =
  | { readonly kind: 'none' }
  | { readonly kind: 'ignored'; readonly why: string }
  | { readonly kind: 'signed'; readonly snapshot: Snapshot }

/** Signature and origin are checked here; whether the journal holds that head, by its reader. */
export async function readSnapshotFile(
  dir: string,
  origin: string,
  keys: readonly PublicKeyRecord[],
): Promise<SnapshotRead> {
  const bytes = await ifThere(readFile(path(dir)))
  if (bytes === null) return { kind: 'none' }
  const ignored = (why: string): SnapshotRead => ({ kind: 'ignored', why })
  const end = bytes.indexOf(LF)
  const body = bytes.subarray(end + 1)
  const header = parseHeader(bytes.toString('utf8', 0, Math.max(0, end)))
  if (header === null) return ignored('its header cannot be read')
  if (header.origin !== origin) return ignored(`it is of origin ${header.origin}`)
  const check = checkSignature(header.kid, header.sig, signedBytes(header), keys, nodeCrypto)
  if (!check.ok) return ignored(`its signature: ${check.code}`)
  if (sha256(body) !== header.state_sha256)
    return ignored('its state is not the one that was signed')
  const state: Plain = JSON.parse(body.toString())
  return { kind: 'signed', snapshot: { v: header.v, seq: header.seq, head: header.head, state } }
}

function parseHeader(text: string): SignedHeader | null {
  const header = looselyRead(text)
  const good = (header.v === 1 || header.v === 2) && headerShape.fault(header) === null
  return good ? (header as SignedHeader) : null
}
