/**
 * A gate that sends nothing itself, in a process of its own: runtimes ask it for permits and report. A named
 * seam kills it. Run by permit-crash.long.test.ts, which plays the runtimes.
 */
import { createHash } from 'node:crypto'
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../dist/adapters/crypto-node.js'
import { openGate } from '../../dist/app/open-gate.js'
import { readYaml } from '../../dist/config/yaml.js'
import { expand, manifestDigest } from '../../dist/core/manifest/expand/expand.js'
import { DEFAULT_LIMITS } from '../../dist/mounts/proxy/options.js'
import { createProxy } from '../../dist/mounts/proxy/server.js'

const [dir, seam, hits] = process.argv.slice(2)
const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    args: {order: string, currency: string, amount: decimal}
    capture: full
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
`
const { manifest } = expand(readYaml(MANIFEST).tree)
let left = Number(hits)
const hit = (name) => {
  if (name === seam && --left <= 0) {
    writeSync(1, `killed at ${name}\n`)
    process.kill(process.pid, 'SIGKILL')
  }
}
// The stores are written from a thread of their own, which brings its own crash points.
Object.assign(process.env, { KILL_SEAM: seam, KILL_HITS: hits })
const sha256 = (text) => createHash('sha256').update(text).digest('hex')

const gate = await openGate({
  dir: join(dir, 'data'),
  headFile: join(dir, 'head'),
  operator: 'acme',
  mode: 'enforce',
  manifests: [{ manifest, digest: manifestDigest(manifest, nodeCrypto) }],
  policyFolder: join(dir, 'policies'),
  identity: {
    tokens: () => new Map([[sha256('t'), { agent: 'support-bot', roles: [], developer: 'bot@1' }]]),
    issuers: [],
    certificates: new Map(),
    anonymous: false,
  },
  segmentBytes: 128 * 1024,
  snapshotEvery: 150,
  report: () => {},
  seam: (name) => hit(name),
  recorder: { in: 'thread', seams: new URL('./kill-seams.mjs', import.meta.url).href },
})
const proxy = createProxy({
  gate,
  upstreams: new Map(),
  passThrough: [],
  limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
  report: () => {},
})
const { port } = await proxy.listen(0, '127.0.0.1')
process.send({ port })
process.on('message', async () => {
  await proxy.close(5_000)
  await gate.close()
  process.exit(0)
})
