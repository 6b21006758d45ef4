import { fork } from 'node:child_process'
import { args, floor, median, SHORT, spread } from '../stats.mjs'

/**
 * The proxy side by side with bare ones (DESIGN §10): every subject, the upstream and the load in
 * processes of their own, repetitions interleaved, medians with spread and ratios.
 * `node bench/proxy/run.mjs [repetitions] [milliseconds]`
 */
const [repetitions = 5, ms = 2000] = SHORT ? [1, 100] : args.map(Number)
// Long enough for the compiler: a gate is measured warm, like the proxies beside it.
const WARM_MS = SHORT ? 100 : 8000
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
const body = JSON.stringify({
  order: 'a-0000000',
  currency: 'EUR',
  amount: '100.00',
  note: 'n'.repeat(934),
})
const request = `POST /pay HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer t\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

const upstream = await message(start('upstream.mjs'))
const REFERENCE = 'HPM on express (reference)'
const LIMIT = 'the limit, 100 policies, asked'
const MEMO = 'capsule-gate, 100 policies, memo'
const ASKED = 'capsule-gate, 100 policies, asked'
const FEW = 'capsule-gate, 10 policies, asked'
const MANY = 'capsule-gate, 1000 policies, asked'
const subjects = [
  [REFERENCE, 'hpm-express'],
  ['HPM on node:http', 'hpm-http'],
  ['bare undici', 'undici'],
  [LIMIT, 'limit', '100', 'asked'],
  [MEMO, 'gate', '100', 'memo'],
  [ASKED, 'gate', '100', 'asked'],
  [FEW, 'gate', '10', 'asked'],
  [MANY, 'gate', '1000', 'asked'],
]
const proxies = new Map()
for (const [name, kind, ...more] of subjects) {
  const child = start('subject.mjs', kind, String(upstream.port), ...more)
  proxies.set(name, { child, port: (await message(child)).port })
}
const load = start('load.mjs')
await message(load)
const cpuOf = async (child) => {
  const answer = message(child)
  child.send('cpu')
  return (await answer).cpu
}
/** CPU is that of the whole process under test, every thread of it. */
const run = async ({ child, port }, connections, time) => {
  const before = await cpuOf(child)
  const answer = message(load)
  load.send({ port, connections, ms: time, request })
  const told = await answer
  return { ...told, cpu: ((await cpuOf(child)) - before) / told.calls }
}
for (const proxy of proxies.values()) await run(proxy, 64, WARM_MS)

const results = new Map()
const appends = []
for (let i = 0; i < repetitions; i++) {
  const append = start('subject.mjs', 'append', '0')
  appends.push((await message(append)).append)
  append.disconnect()
  for (const connections of [1, 16, 64]) {
    for (const [name, proxy] of proxies) {
      const key = `${name}|${connections}`
      results.set(key, [...(results.get(key) ?? []), await run(proxy, connections, ms)])
    }
  }
}
for (const child of started) if (child.connected) child.disconnect()

const middle = (name, connections, column) =>
  median(results.get(`${name}|${connections}`).map((row) => row[column]))
for (const connections of [1, 16, 64]) {
  console.log(`\n${connections} connection(s): ${repetitions} interleaved repetitions of ${ms} ms`)
  const base = middle(REFERENCE, connections, 'rps')
  for (const [name] of subjects) {
    const rows = results.get(`${name}|${connections}`)
    const of = (column, digits) => middle(name, connections, column).toFixed(digits)
    const rps = rows.map((row) => row.rps)
    const bad = rows.reduce((sum, row) => sum + row.bad, 0)
    console.log(
      `  ${name.padEnd(36)} ${of('rps', 0).padStart(6)} rps (${spread(rps)})  x${(median(rps) / base).toFixed(2)}  p50 ${of('p50', 2)} ms  p99 ${of('p99', 1)} ms  cpu ${of('cpu', 0)} µs${bad > 0 ? `  NOT 200: ${bad}` : ''}`,
    )
  }
}
const ratio = (column, name, other, connections) =>
  middle(name, connections, column) / middle(other, connections, column)
const append = median(appends)
const added = middle(MEMO, 1, 'p50') - middle('bare undici', 1, 'p50')
console.log(`\none durable append to two files: p50 ${append.toFixed(3)} ms`)
console.log(`added p50 at 1 connection over bare undici: ${added.toFixed(2)} ms\n`)
floor('throughput vs the limit, 64 connections, asked', ratio('rps', ASKED, LIMIT, 64), {
  atLeast: 0.6,
})
floor('throughput vs HPM on express, 64 connections, memo', ratio('rps', MEMO, REFERENCE, 64), {
  atLeast: 0.75,
})
floor('throughput vs HPM on express, 16 connections, memo', ratio('rps', MEMO, REFERENCE, 16), {
  atLeast: 0.6,
})
floor('CPU per call vs HPM on express, 64 connections, memo', ratio('cpu', MEMO, REFERENCE, 64), {
  atMost: 2,
})
floor('throughput asked vs memo, 64 connections', ratio('rps', ASKED, MEMO, 64), { atLeast: 0.75 })
floor('added p50 at 1 connection vs one durable append to two files', added / append, { atMost: 5 })
floor('cost at 1,000 policies vs 10, 16 connections, asked', ratio('rps', FEW, MANY, 16), {
  atMost: 1.3,
})
