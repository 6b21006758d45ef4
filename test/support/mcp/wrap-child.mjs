/**
 * `wrap` with a crash point: at the named seam, passed so many times, gate, server or client is gone. The client is
 * the test: it is told on stderr, and the seam waits until the client has closed its ends. Run by mcp-wrap-crash.long.test.ts.
 */
import { existsSync, readFileSync, writeSync } from 'node:fs'
import { DEFAULT_TERMS } from '../../../dist/app/mcp/served.js'
import { runWrap } from '../../../dist/app/wrap/run.js'
import { loadConfig } from '../../../dist/config/load.js'
import { openWire } from '../../../dist/mounts/mcp/stdio.js'

const [data, log, victim, seam, hits] = process.argv.slice(2)
let left = Number(hits)

async function hit(name) {
  if (name !== seam || --left !== 0) return
  writeSync(2, `at ${seam}\n`)
  if (victim === 'gate') {
    process.kill(process.pid, 'SIGKILL')
    // The signal is on its way: nothing may happen between it and the end.
    for (;;);
  }
  if (victim === 'server') {
    const pid = Number(readFileSync(`${log}.pid`, 'utf8'))
    process.kill(pid, 'SIGKILL')
    return
  }
  while (!existsSync(`${log}.gone`)) await new Promise((resolve) => setTimeout(resolve, 5))
}

const loaded = loadConfig(null, { GATE_DATA_DIR: JSON.stringify(data) })
const own = { ...DEFAULT_TERMS, to: { kind: 'command', command: [], cwd: null, env: [] } }
const config = { ...loaded.config, mode: 'observe', mcp: { server: own } }
const wire = openWire(process.stdin, process.stdout, config.limits.body_bytes)
process.stderr.on('error', () => undefined)
const server = new URL('./scripted-server.mjs', import.meta.url).pathname
const wrapping = {
  name: 'server',
  agent: 'local',
  command: process.execPath,
  args: [server, log],
  cwd: process.cwd(),
  env: { ...process.env },
}
const code = await runWrap(config, wrapping, wire, {
  judged: 'by_nothing',
  report: () => undefined,
  stop: new AbortController().signal,
  stderr: () => undefined,
  seam: hit,
})
await wire.flushed()
process.exit(code)
