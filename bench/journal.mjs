/**
 * The journal alone: appends per second and p50 under group commit against one fdatasync each, CPU per
 * line, and boot against reading and hashing the same bytes. Ratios within one run are what counts.
 * Run `npm run build` first. Lines of the boot part are 350 bytes (a million capsules would be 1.8 GB).
 */
import { createHash, generateKeyPairSync, hash, sign } from 'node:crypto'
import { closeSync, fdatasync, openSync, readdirSync, readSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { openJournal } from '../dist/adapters/journal/open.js'
import { args, floor, median, SHORT } from './stats.mjs'

const [LINES = 1_000_000, SECONDS = 1, REPETITIONS = 5] = SHORT ? [4000, 0.05, 1] : args.map(Number)

const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
const kid = createHash('sha256').update(raw).digest()
const signer = { kid: () => kid, sign: (_, message) => sign(null, message, privateKey) }
const keys = [
  {
    kid: kid.toString('hex'),
    alg: -8,
    public_key: raw.toString('hex'),
    purpose: 'event',
    status: 'active',
  },
]
const root = await mkdtemp(join(tmpdir(), 'journal-bench-'))
const open = (name, changes = {}) =>
  openJournal({
    dir: join(root, name),
    headFile: join(root, `${name}.head`),
    origin: 'gate-bench',
    signer,
    keys,
    clock: Date,
    ...changes,
  })

const hex = (n) => n.toString(16).padStart(64, '0')
const capsule = (n) => ({
  type: 'CAPSULE',
  json: JSON.stringify({
    statement: 'agent_action',
    capsule: {
      action_id: `01970000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
      capsule_id: hex(n),
      constraints: Array.from({ length: 5 }, (_, i) => ({
        id: `com.acme.payments.constraint_${i}`,
        result: 'pass',
        severity: 'high',
        blocking: true,
        evidence_digest: hex(n + i),
      })),
    },
    protected: 'p'.repeat(200),
    signature: 's'.repeat(86),
    rest: 'x'.repeat(80),
  }),
})
const small = (n) => ({
  type: 'ACTION_DISPATCHED',
  json: JSON.stringify({
    action_id: `01970000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`,
    request_digest: hex(n),
    tool: 'create_refund',
  }),
})
const show = (values, digits = 0) =>
  `${median(values).toFixed(digits)} (${Math.min(...values).toFixed(digits)}..${Math.max(...values).toFixed(digits)})`

/** `clients` callers, each waiting for its line before it sends the next. */
async function load(append, clients) {
  const waits = []
  let n = 0
  const cpu = process.cpuUsage()
  const start = performance.now()
  const client = async () => {
    while (performance.now() - start < SECONDS * 1000) {
      const before = performance.now()
      await append(n++)
      waits.push(performance.now() - before)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { rate: n / seconds, p50: median(waits), cpu: (user + system) / n }
}

const sync = promisify(fdatasync)
const lineBytes = Buffer.from(`${capsule(1).json}${'e'.repeat(180)}\n`)
console.log(`appends of ${lineBytes.length}-byte lines, ${REPETITIONS} interleaved repetitions`)
const results = new Map()
const record = (name, result) => results.set(name, [...(results.get(name) ?? []), result])
for (let repetition = 0; repetition < REPETITIONS; repetition++) {
  const journal = await open(`append-${repetition}`)
  for (const clients of [1, 16, 64]) {
    record(`journal c=${clients}`, await load((n) => journal.append([capsule(n)]), clients))
  }
  await journal.close()
  await rm(join(root, `append-${repetition}`), { recursive: true })
  const fd = openSync(join(root, 'control'), 'w')
  let turn = Promise.resolve()
  const one = () => {
    turn = turn.then(() => {
      writeSync(fd, lineBytes)
      return sync(fd)
    })
    return turn
  }
  record('one fdatasync each c=64', await load(one, 64))
  closeSync(fd)
}
for (const [name, runs] of results) {
  const column = (key, digits) =>
    show(
      runs.map((run) => run[key]),
      digits,
    )
  console.log(
    `${name.padEnd(26)} ${column('rate')} /s   p50 ${column('p50', 2)} ms   cpu ${column('cpu', 1)} us/line`,
  )
}
const rate = (name) => median(results.get(name).map((run) => run.rate))
console.log(
  `group commit / one fdatasync each, c=64: ${(rate('journal c=64') / rate('one fdatasync each c=64')).toFixed(1)}x`,
)

console.log(`\nboot, ${LINES} lines`)
let journal = await open('boot')
/** Lines to a head, about as many as 64 connections give. */
const BATCH = 20
for (let n = 0; n < LINES; n += BATCH) {
  await journal.append(Array.from({ length: Math.min(BATCH, LINES - n) }, (_, i) => small(n + i)))
}
await journal.close()

/** Reads the files and takes each line's leaf hash: what boot cannot do without. */
function readAndHash(names) {
  const buffer = Buffer.allocUnsafe(128 * 1024 * 1024)
  for (const name of names) {
    const fd = openSync(join(root, 'boot', name), 'r')
    const size = readSync(fd, buffer, 1, buffer.length - 1, 0)
    closeSync(fd)
    for (let start = 1; start <= size; ) {
      const stop = buffer.indexOf(10, start)
      buffer[start - 1] = 0
      hash('sha256', buffer.subarray(start - 1, stop), 'hex')
      start = stop + 1
    }
  }
}
const timed = async (work) => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
const segments = readdirSync(join(root, 'boot'))
  .filter((name) => name.endsWith('.jsonl'))
  .sort()
const boots = new Map()
const boot = async (name, names, expectSnapshot) => {
  const floor = await timed(() => readAndHash(names))
  const taken = await timed(async () => {
    journal = await open('boot')
  })
  if ((journal.snapshot !== null) !== expectSnapshot) throw new Error('snapshot not as expected')
  await journal.close()
  boots.set(name, [...(boots.get(name) ?? []), { floor, taken, ratio: taken / floor }])
}
for (let i = 0; i < REPETITIONS; i++) await boot('without snapshot', segments, false)
journal = await open('boot')
await journal.writeSnapshot({ open: [] })
await journal.append([small(LINES)])
await journal.close()
for (let i = 0; i < REPETITIONS; i++) {
  await boot('snapshot near the end', segments.slice(-1), true)
}
for (const [name, runs] of boots) {
  const column = (key, digits) =>
    show(
      runs.map((run) => run[key]),
      digits,
    )
  console.log(
    `${name.padEnd(26)} ${column('taken')} ms   reading and hashing the same ${column('floor')} ms   ratio ${column('ratio', 2)}`,
  )
  floor(
    `boot with ${LINES} lines, ${name}, vs reading and hashing what it must check`,
    median(runs.map(({ ratio }) => ratio)),
    { atMost: 4 },
  )
}
await rm(root, { recursive: true })
