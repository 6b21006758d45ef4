import { nodeCrypto } from '../../../adapters/crypto-node.js'
import type { ReadHttpCall } from '../../../core/call/call.js'
import { manifestDigest } from '../../../core/manifest/expand/expand.js'
import { compileRouter, match } from '../../../core/manifest/route/match.js'
import { readArgs } from '../../../core/manifest/route/read-args.js'
import { readManifest } from '../draft.js'
import type { Observed } from './learn.js'

/** Why the written manifest would refuse a call, as the gate itself reads it; null: it would not. */
export function createRehearsal(text: string): (call: Observed) => string | null {
  const read = readManifest(text)
  if (!read.ok) throw notLoading(read)
  const { manifest } = read
  const compiled = compileRouter([{ manifest, digest: manifestDigest(manifest, nodeCrypto) }])
  if (!compiled.ok) throw notLoading(compiled)
  return (observed) => {
    const call = httpCall(observed, manifest.upstream)
    const matched = match(compiled.router, call)
    if (!matched.ok) return matched.detail
    const args = readArgs(matched, call)
    const { tool } = matched.route.rule
    if (!args.ok) return `${tool}: ${args.detail}`
    const unread = args.notRead.query[0] ?? args.notRead.members[0]
    return unread === undefined ? null : `${tool}: it does not read ${unread}`
  }
}

const notLoading = ({ problems }: { problems: readonly { message: string }[] }): Error =>
  new Error(problems.map(({ message }) => message).join('\n'))

const httpCall = ({ contentType, body, ...call }: Observed, upstream: string): ReadHttpCall => ({
  ...call,
  kind: 'http',
  upstream,
  headers: contentType === null ? [] : [['content-type', contentType]],
  body: { kind: 'read', bytes: body },
  tool: null,
  caller: { bearer: null, certificate: null, asserted: null, source: 'evidence' },
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
})
