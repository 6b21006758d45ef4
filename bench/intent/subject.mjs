import { startGateProxy } from '../proxy/gate.mjs'
import { manifestFor } from './declarations.mjs'

/** One gate per process: `node subject.mjs UPSTREAM_PORT declared | plain ISSUERS`. */
const [upstreamPort, kind, issuers] = process.argv.slice(2)
const { issuers: trusted } = JSON.parse(issuers)

process.on('disconnect', () => process.exit(0))
process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system })
})
const port = await startGateProxy({
  origin: `http://127.0.0.1:${upstreamPort}`,
  manifest: manifestFor(kind === 'declared'),
  policies: 100,
  decisions: 'memo',
  mandates: { issuers: trusted, agents: new Map() },
})
process.send?.({ port })
