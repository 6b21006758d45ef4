import { nodeCrypto } from '../../adapters/crypto-node.js'
import { readYaml } from '../../config/yaml.js'
import type { ReadHttpCall } from '../../core/call/call.js'
import { expand, manifestDigest } from '../../core/manifest/expand/expand.js'
import { compileRouter, match } from '../../core/manifest/route/match.js'
import { readArgs } from '../../core/manifest/route/read-args.js'
import type { Observed } from './traffic.js'

/** Why the written manifest would refuse a call, as the gate itself reads it; null: it would not. */
export function createRehearsal(text: string): (call: Observed) => string | null {
  const read = readYaml(text)
  const expanded = read.ok ? expand(read.tree) : read
  if (!expanded.ok) throw new Error(expanded.problems.map(({ message }) => message).join('\n'))
  const { manifest } = expanded
  const compiled = compileRouter([{ manifest, digest: manifestDigest(manifest, nodeCrypto) }])
  if (!compiled.ok) throw new Error(compiled.problems.map(({ message }) => message).join('\n'))
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

const httpCall = (
  { method, target, contentType, body }: Observed,
  upstream: string,
): ReadHttpCall => ({
  kind: 'http',
  method,
  upstream,
  target,
  headers: contentType === null ? [] : [['content-type', contentType]],
  body: { kind: 'read', bytes: body },
  tool: null,
  caller: { bearer: null, certificate: null, asserted: null, source: 'evidence' },
  idempotencyKey: null,
  approvalId: null,
  waitSeconds: 0,
})
