import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manifestOf, policySet } from '../judged.mjs'

/** One proxy under test per process: `node subject.mjs KIND UPSTREAM_PORT [POLICIES] [asked | memo]`. */
const [kind, upstreamPort, policies = '100', decisions = 'memo'] = process.argv.slice(2)
const origin = `http://127.0.0.1:${upstreamPort}`
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
const listen = (server) =>
  server.listen(0, '127.0.0.1', () => process.send?.({ port: server.address().port }))

const KINDS = {
  async 'hpm-express'() {
    const [{ default: express }, { createProxyMiddleware }] = await Promise.all([
      import('express'),
      import('http-proxy-middleware'),
    ])
    listen(createServer(express().use(createProxyMiddleware({ target: origin, agent }))))
  },
  async 'hpm-http'() {
    const { createProxyMiddleware } = await import('http-proxy-middleware')
    const proxy = createProxyMiddleware({ target: origin, agent })
    listen(createServer((req, res) => proxy(req, res)))
  },
  async undici() {
    const { Pool } = await import('undici')
    const pool = new Pool(origin, { connections: 256, pipelining: 1 })
    listen(
      createServer(async (req, res) => {
        const { statusCode, headers, body } = await pool.request({
          method: req.method,
          path: req.url,
          headers: { 'content-type': req.headers['content-type'] ?? '' },
          body: req,
        })
        res.writeHead(statusCode, headers)
        body.pipe(res)
      }),
    )
  },
  async limit() {
    const { loadPolicies } = await import('../../dist/adapters/cedar/load/load.js')
    const { readYaml } = await import('../../dist/config/yaml.js')
    const { expand } = await import('../../dist/core/manifest/expand/expand.js')
    const { startLimit } = await import('./limit.mjs')
    const dir = mkdtempSync(join(tmpdir(), 'bench-limit-'))
    process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
    writeFileSync(join(dir, 'p.cedar'), policySet(Number(policies), decisions))
    const { rules } = expand(readYaml(MANIFEST).tree).manifest
    const { set } = await loadPolicies(dir, rules)
    listen(await startLimit({ origin, dir, set, rules }))
  },
  async append() {
    // One durable append to two files at once: what a record costs at the very least.
    const { open } = await import('node:fs/promises')
    const dir = mkdtempSync(join(tmpdir(), 'bench-append-'))
    const files = [await open(join(dir, 'a'), 'a'), await open(join(dir, 'b'), 'a')]
    const line = Buffer.alloc(1750, 'x')
    const times = []
    for (let i = 0; i < 300; i++) {
      const started = performance.now()
      await Promise.all(
        files.map(async (file) => {
          await file.write(line)
          await file.datasync()
        }),
      )
      times.push(performance.now() - started)
    }
    for (const file of files) await file.close()
    rmSync(dir, { recursive: true, force: true })
    process.send?.({ append: times.sort((a, b) => a - b)[150] })
  },
  async gate() {
    const { startGateProxy } = await import('./gate.mjs')
    const port = await startGateProxy({ origin, manifest: MANIFEST, policies, decisions })
    process.send?.({ port })
  },
}

const MANIFEST = manifestOf((tool) => `POST /${tool}`, 'connection: pooled')

process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system })
})
await KINDS[kind]()
