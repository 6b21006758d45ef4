import { fork } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { manifestOf, policySet } from '../judged.mjs'
import { args, floor, median, SHORT, spread, table } from '../stats.mjs'
import { openClient } from './client.mjs'

/**
 * Calls of an MCP server over pipes (DESIGN §10): straight to it, recorded by `wrap` without files, and governed, beside
 * the durable append that a record costs at the very least. One call at a time, repetitions interleaved.
 * `node bench/mcp/run.mjs [repetitions] [milliseconds]`
 */
const [repetitions = 5, ms = 2000] = SHORT ? [1, 100] : args.map(Number)
// Long enough for the compiler: a gate is measured warm.
const WARM_MS = SHORT ? 100 : 8000
const file = (name) => fileURLToPath(new URL(name, import.meta.url))

const home = mkdtempSync(join(tmpdir(), 'bench-mcp-'))
process.on('exit', () => rmSync(home, { recursive: true, force: true }))
const write = (path, text) => {
  mkdirSync(join(home, path, '..'), { recursive: true })
  writeFileSync(join(home, path), text)
}
write('gate.yaml', 'operator: bench\n')
write(
  'manifests/bench.yaml',
  manifestOf((tool) => `{server: bench, tool: ${tool}}`),
)
write('policies/bench.cedar', policySet(100, 'memo'))

const server = [process.execPath, file('server.mjs')]
const wrap = (data, ...more) => [
  ...[process.execPath, file('../../dist/cli/main.js'), 'wrap', '--name', 'bench'],
  ...['--agent', 'bot', '--data', join(home, data), ...more, '--', ...server],
]
const DIRECT = 'direct'
const WRAPPED = 'wrapped, no files'
const GOVERNED = 'governed, 100 policies, 5 constraints'
const subjects = {
  [DIRECT]: server,
  [WRAPPED]: wrap('wrapped'),
  [GOVERNED]: wrap('governed', '--config', join(home, 'gate.yaml'), '--admin-port', '0'),
}
const clients = new Map()
for (const [name, [command, ...rest]] of Object.entries(subjects)) {
  clients.set(name, await openClient(command, rest, process.env))
}

/** One durable append to two files, in a process that does nothing else. */
const append = () =>
  new Promise((resolve, reject) => {
    const child = fork(file('../proxy/subject.mjs'), ['append', '0'])
    child.once('error', reject)
    child.once('message', (told) => {
      child.disconnect()
      resolve(told.append)
    })
  })

for (const client of clients.values()) await client.calls(WARM_MS)
const seen = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
const appends = []
for (let i = 0; i < repetitions; i++) {
  appends.push(await append())
  for (const [name, client] of clients) seen[name].push(await client.calls(ms))
}
for (const client of clients.values()) await client.close()

const middle = (name, column) => median(seen[name].map((run) => run[column]))
const base = median(appends)
console.log(`one call at a time: ${repetitions} interleaved repetitions of ${ms} ms`)
table(
  ['', 'p50 ms', 'spread', 'p99 ms', 'added p50', 'in appends'],
  [
    ['one durable append to two files', base.toFixed(3), spread(appends, 3), '', '', '1.00'],
    ...Object.entries(seen).map(([name, runs]) => {
      const bad = runs.reduce((sum, run) => sum + run.bad, 0)
      const added = middle(name, 'p50') - middle(DIRECT, 'p50')
      return [
        `${name}${bad > 0 ? `  NOT OK: ${bad}` : ''}`,
        middle(name, 'p50').toFixed(3),
        spread(
          runs.map(({ p50 }) => p50),
          3,
        ),
        middle(name, 'p99').toFixed(2),
        name === DIRECT ? '' : added.toFixed(3),
        name === DIRECT ? '' : (added / base).toFixed(2),
      ]
    }),
  ],
)
console.log()
floor(
  'MCP stdio call, governed: added p50 vs one durable append to two files',
  (middle(GOVERNED, 'p50') - middle(DIRECT, 'p50')) / base,
  { atMost: 5 },
)
