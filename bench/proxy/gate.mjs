import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { policySet } from '../judged.mjs'

const root = new URL('../../dist/', import.meta.url)
const load = (path) => import(new URL(path, root).href)

/** A governed proxy before `origin` in this process; resolves to its port. */
export async function startGateProxy({ origin, manifest: text, policies, decisions, mandates }) {
  const [wire, yaml, expand, crypto, server, options, upstreams, tokens] = await Promise.all([
    load('app/open-gate.js'),
    load('config/yaml.js'),
    load('core/manifest/expand/expand.js'),
    load('adapters/crypto-node.js'),
    load('mounts/proxy/server.js'),
    load('mounts/proxy/options.js'),
    load('adapters/http-client/upstream.js'),
    load('adapters/identity/tokens.js'),
  ])
  const dir = mkdtempSync(join(tmpdir(), 'bench-gate-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  const { manifest } = expand.expand(yaml.readYaml(text).tree)
  mkdirSync(join(dir, 'policies'))
  writeFileSync(join(dir, 'policies', 'p.cedar'), policySet(Number(policies), decisions))
  const gate = await wire.openGate({
    dir: join(dir, 'data'),
    headFile: null,
    operator: 'bench',
    mode: 'enforce',
    manifests: [{ manifest, digest: expand.manifestDigest(manifest, crypto.nodeCrypto) }],
    policyFolder: join(dir, 'policies'),
    identity: {
      tokens: () =>
        new Map([[tokens.hashToken('t'), { agent: 'bot', roles: [], developer: 'bot/1' }]]),
      issuers: [],
      certificates: new Map(),
      anonymous: false,
      ...(mandates === undefined ? {} : { mandates }),
    },
    report(event) {
      if (event.level !== 'info') process.stderr.write(`${JSON.stringify(event)}\n`)
    },
  })
  const upstream = upstreams.createUpstream({ name: 'default', origin })
  const proxy = server.createProxy({
    gate,
    upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
    passThrough: [],
    limits: { ...options.DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
    report: () => {},
  })
  const { port } = await proxy.listen(0, '127.0.0.1')
  return port
}
