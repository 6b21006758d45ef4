import { fork } from 'node:child_process'
import { args, floor, median, SHORT, spread } from '../stats.mjs'

/**
 * A governed proxy whose tool asks for a declaration with each call, beside the same one whose tool asks for none
 * (DESIGN §10): 100 policies, 5 constraints, decisions from memory, every declaration new.
 * `node bench/intent/run.mjs [repetitions] [milliseconds]`
 */
const [repetitions = 7, ms = 2000] = SHORT ? [1, 100] : args.map(Number)
const WARM_MS = SHORT ? 100 : 8000
/** More than any gate answers: a connection that has no more requests ends, and is told of. */
const MOST_PER_SECOND = SHORT ? 3000 : 6000
const DECLARED = 'every call declared'
const PLAIN = 'no tool with intent'
const started = []
const start = (name, ...args) => {
  const execArgv = process.env.BENCH_EXEC_ARGV?.split(' ') ?? []
  const child = fork(new URL(name, import.meta.url), args, {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    execArgv: name === 'subject.mjs' ? execArgv : [],
  })
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
const ask = (child, what) => {
  const answer = message(child)
  child.send(what)
  return answer
}

const upstream = await message(start('../proxy/upstream.mjs'))
const load = start('load.mjs')
const { trusted } = await message(load)
const gates = new Map()
for (const [name, kind] of [
  [DECLARED, 'declared'],
  [PLAIN, 'plain'],
]) {
  const child = start('subject.mjs', String(upstream.port), kind, JSON.stringify(trusted))
  gates.set(name, { child, declared: kind === 'declared', port: (await message(child)).port })
}
/** CPU is that of the whole process under test, every thread of it. */
const run = async ({ child, port, declared }, connections, time) => {
  const calls = Math.ceil((time / 1000) * MOST_PER_SECOND)
  await ask(load, { kind: 'prepare', connections, calls, declared })
  const before = (await ask(child, 'cpu')).cpu
  const told = await ask(load, { kind: 'run', port, connections, ms: time })
  return { ...told, cpu: ((await ask(child, 'cpu')).cpu - before) / told.calls }
}
for (const gate of gates.values()) await run(gate, 64, WARM_MS)

const results = new Map()
for (let i = 0; i < repetitions; i++) {
  // Who comes first changes: the machine's other work is not always in the same one's way.
  const order = i % 2 === 0 ? [...gates] : [...gates].reverse()
  for (const connections of [16, 64]) {
    for (const [name, gate] of order) {
      const key = `${name}|${connections}`
      results.set(key, [...(results.get(key) ?? []), await run(gate, connections, ms)])
    }
  }
}
for (const child of started) if (child.connected) child.disconnect()

const ratiosOf = (connections) => {
  const declared = results.get(`${DECLARED}|${connections}`)
  const plain = results.get(`${PLAIN}|${connections}`)
  return declared.map(({ rps }, i) => rps / plain[i].rps)
}
for (const connections of [16, 64]) {
  console.log(`\n${connections} connections: ${repetitions} interleaved repetitions of ${ms} ms`)
  for (const name of gates.keys()) {
    const rows = results.get(`${name}|${connections}`)
    const of = (column, digits) => median(rows.map((row) => row[column])).toFixed(digits)
    const [bad, ranOut] = ['bad', 'ranOut'].map((column) =>
      rows.reduce((sum, row) => sum + row[column], 0),
    )
    const rps = rows.map((row) => row.rps)
    console.log(
      `  ${name.padEnd(20)} ${of('rps', 0).padStart(6)} rps (${spread(rps)})  p50 ${of('p50', 2)} ms  p99 ${of('p99', 1)} ms  cpu ${of('cpu', 0)} µs${bad > 0 ? `  NOT 200: ${bad}` : ''}${ranOut > 0 ? `  NOT OK, requests ran out: ${ranOut}` : ''}`,
    )
  }
  const ratios = ratiosOf(connections)
  console.log(`  with / without, each repetition: ${ratios.map((one) => one.toFixed(2)).join(' ')}`)
}
console.log()
for (const connections of [64, 16]) {
  floor(
    `throughput with intent vs without, ${connections} connections`,
    median(ratiosOf(connections)),
    { atLeast: 0.8 },
  )
}
