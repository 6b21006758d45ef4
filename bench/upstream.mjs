import { fork } from 'node:child_process'
import { createServer } from 'node:http'
import { Pool } from 'undici'
import { createUpstream } from '../dist/adapters/http-client/upstream.js'
import { median, SHORT } from './stats.mjs'

/**
 * The governed exchange against bare undici: 1 KB POST, 1 KB answer, pooled connections, the server in
 * another process. Interleaved repetitions; medians with their spread. CPU is this process's own.
 */
const BODY = Buffer.from(JSON.stringify({ order: 'o_1', note: 'x'.repeat(990) }))
const TYPES = { json: 'application/json', octets: 'application/octet-stream' }

if (process.argv[2] === 'serve') {
  const server = createServer((req, res) => {
    req.resume()
    req.on('end', () => {
      const type = req.url === '/json' ? TYPES.json : TYPES.octets
      res.writeHead(200, { 'content-type': type, 'content-length': BODY.length })
      res.end(BODY)
    })
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => process.send?.(server.address().port))
  process.on('disconnect', () => process.exit())
} else {
  await bench(
    SHORT ? 1 : Number(process.env.REPS ?? 5),
    SHORT ? 50 : Number(process.env.MS ?? 1000),
  )
}

async function bench(repetitions, milliseconds) {
  const child = fork(import.meta.filename, ['serve'])
  const port = await new Promise((resolve) => child.once('message', resolve))
  const origin = `http://127.0.0.1:${port}`
  const pool = new Pool(origin, { pipelining: 1, allowH2: false })
  const upstream = createUpstream({ name: 'bench', origin })
  const headers = [['content-type', 'application/json']]
  const rule = {
    deadlines: { connect_ms: 5000, first_byte_ms: 10_000, total_ms: 20_000 },
    connection: 'pooled',
    close_delimited: 'refuse',
    success: { status: ['200-299'], unless: [] },
    saltedDigest: null,
  }
  const sink = { head() {}, data() {}, trailers() {} }
  const control = { stillAllowed: () => true }
  const governed = (target) => async () => {
    const seen = await upstream.send(
      { method: 'POST', target, headers, body: BODY },
      rule,
      sink,
      control,
    )
    if (seen.kind !== 'complete') throw new Error(JSON.stringify(seen))
  }
  const subjects = {
    'undici.dispatch': () =>
      new Promise((resolve, reject) => {
        pool.dispatch(
          {
            method: 'POST',
            path: '/octets',
            headers: { 'content-type': 'application/json' },
            body: BODY,
          },
          {
            onConnect() {},
            onHeaders: () => true,
            onData: () => true,
            onComplete: resolve,
            onError: reject,
          },
        )
      }),
    'undici.request': async () => {
      const { body } = await pool.request({
        method: 'POST',
        path: '/octets',
        headers: { 'content-type': 'application/json' },
        body: BODY,
      })
      await body.arrayBuffer()
    },
    'send, octets bound': governed('/octets'),
    'send, JSON bound': governed('/json'),
  }
  for (const act of Object.values(subjects)) await load(act, 16, milliseconds / 2)
  for (const connections of [1, 16, 64]) {
    const runs = Object.fromEntries(Object.keys(subjects).map((name) => [name, []]))
    for (let i = 0; i < repetitions; i++) {
      for (const [name, act] of Object.entries(subjects)) {
        runs[name].push(await load(act, connections, milliseconds))
      }
    }
    const base = median(runs['undici.dispatch'].map((run) => run.cpu))
    const rate = median(runs['undici.request'].map((run) => run.rps))
    for (const [name, seen] of Object.entries(runs)) {
      const rps = seen.map((run) => run.rps)
      const cpu = seen.map((run) => run.cpu)
      console.log(
        `c=${String(connections).padEnd(3)} ${name.padEnd(20)}`,
        `${spread(rps)} rps (${(median(rps) / rate).toFixed(2)}× request)`.padEnd(44),
        `${spread(cpu)} µs cpu (${(median(cpu) / base).toFixed(2)}× dispatch)`,
      )
    }
  }
  await upstream.close()
  await pool.destroy()
  child.disconnect()
}

async function load(act, connections, milliseconds) {
  const until = performance.now() + milliseconds
  const before = process.cpuUsage()
  const started = performance.now()
  let calls = 0
  const worker = async () => {
    while (performance.now() < until) {
      await act()
      calls++
    }
  }
  await Promise.all(Array.from({ length: connections }, worker))
  const used = process.cpuUsage(before)
  return {
    rps: (calls / (performance.now() - started)) * 1000,
    cpu: (used.user + used.system) / calls,
  }
}

function spread(values) {
  const round = (value) => Math.round(value)
  return `${round(median(values))} (${round(Math.min(...values))}..${round(Math.max(...values))})`
}
