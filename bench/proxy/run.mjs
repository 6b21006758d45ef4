import { fork } from 'node:child_process'

/**
 * The proxy side by side with bare ones (DESIGN §10): every subject, the upstream and the load in
 * processes of their own, repetitions interleaved, medians with spread and ratios.
 * `node bench/proxy/run.mjs [repetitions] [milliseconds]`
 */
const [repetitions = 5, ms = 2000] = process.argv.slice(2).map(Number)
const file = (name) => new URL(name, import.meta.url)
const started = []
const start = (name, ...args) => {
  const child = fork(file(name), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
  started.push(child)
  return child
}
const message = (child) =>
  new Promise((resolve, reject) => {
    const ended = (code) => reject(new Error(`a bench process ended with ${code}`))
    child.once('exit', ended)
    child.once('message', (told) => {
      child.off('exit', ended)
      resolve(told)
    })
  })
const median = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]
const body = JSON.stringify({
  order: 'a-1',
  currency: 'EUR',
  amount: '100.00',
  note: 'n'.repeat(940),
})
const request = `POST /pay HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer t\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

const upstream = await message(start('upstream.mjs'))
const subjects = [
  ['HPM on express (reference)', 'hpm-express'],
  ['HPM on node:http', 'hpm-http'],
  ['bare undici', 'undici'],
  ['capsule-gate, 100 policies', 'gate', '100'],
  ['capsule-gate, 10 policies', 'gate', '10'],
  ['capsule-gate, 1000 policies', 'gate', '1000'],
]
const ports = new Map()
for (const [name, kind, ...args] of subjects) {
  ports.set(name, (await message(start('subject.mjs', kind, String(upstream.port), ...args))).port)
}
const load = start('load.mjs')
await message(load)
const run = (port, connections, time) => {
  const answer = message(load)
  load.send({ port, connections, ms: time, request })
  return answer
}
// Long enough for the compiler: a gate is measured warm, like the proxies beside it.
for (const port of ports.values()) await run(port, 64, 8000)

const results = new Map()
const appends = []
for (let i = 0; i < repetitions; i++) {
  const append = start('subject.mjs', 'append', '0')
  appends.push((await message(append)).append)
  append.disconnect()
  for (const connections of [1, 16, 64]) {
    for (const [name, port] of ports) {
      const key = `${name}|${connections}`
      results.set(key, [...(results.get(key) ?? []), await run(port, connections, ms)])
    }
  }
}
for (const child of started) if (child.connected) child.disconnect()

const reference = subjects[0][0]
for (const connections of [1, 16, 64]) {
  console.log(`\n${connections} connection(s): ${repetitions} interleaved repetitions of ${ms} ms`)
  const base = median(results.get(`${reference}|${connections}`).map(({ rps }) => rps))
  for (const [name] of subjects) {
    const rows = results.get(`${name}|${connections}`)
    const rps = rows.map((row) => row.rps)
    const bad = rows.reduce((sum, row) => sum + row.bad, 0)
    console.log(
      `  ${name.padEnd(30)} ${median(rps).toFixed(0).padStart(6)} rps (${Math.min(...rps).toFixed(0)}..${Math.max(...rps).toFixed(0)})  x${(median(rps) / base).toFixed(2)}  p50 ${median(rows.map((r) => r.p50)).toFixed(2)} ms  p99 ${median(rows.map((r) => r.p99)).toFixed(1)} ms${bad > 0 ? `  NOT 200: ${bad}` : ''}`,
    )
  }
}
const p50 = (name) => median(results.get(`${name}|1`).map((row) => row.p50))
const rps16 = (name) => median(results.get(`${name}|16`).map((row) => row.rps))
const append = median(appends)
const added = p50('capsule-gate, 100 policies') - p50('bare undici')
console.log(`\none durable append: p50 ${append.toFixed(3)} ms`)
console.log(
  `added p50 at 1 connection over bare undici: ${added.toFixed(2)} ms = ${(added / append).toFixed(1)} appends`,
)
console.log(
  `cost at 1000 policies vs 10 (16 connections): ${(rps16('capsule-gate, 10 policies') / rps16('capsule-gate, 1000 policies')).toFixed(2)}x`,
)
