/**
 * A start with so many declarations on record: how long reading, folding and loading take, what the index of their
 * ids and the whole process hold in memory, and what a snapshot costs. `node bench/intent/boot.mjs [declarations]`.
 * The lines are of the length and shape that calls leave; their own signatures repeat one, because none is checked
 * before the listener opens. Heads are signed.
 */
import { fork } from 'node:child_process'
import { createHash, generateKeyPairSync, hash, sign } from 'node:crypto'
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openJournal } from '../../dist/adapters/journal/open.js'
import { createEmbeddedState } from '../../dist/adapters/state/embedded/state.js'
import { readLine } from '../../dist/core/journal/vocabulary.js'
import { args, SHORT } from '../stats.mjs'
import { soId } from './declarations.mjs'

const BATCH = 200
const STEPS_PER_SESSION = 100
const AGENT = 'bot'

function signerOf(pem) {
  const raw = Buffer.from(pem.public, 'hex')
  const kid = createHash('sha256').update(raw).digest()
  const signer = { kid: () => kid, sign: (_, message) => sign(null, message, pem.private) }
  const record = { kid: kid.toString('hex'), alg: -8, public_key: pem.public }
  return { signer, keys: [{ ...record, purpose: 'event', status: 'active' }] }
}
const open = (dir, { signer, keys }) =>
  openJournal({
    dir: join(dir, 'journal'),
    headFile: null,
    origin: 'gate-bench',
    signer,
    keys,
    clock: Date,
    report: () => {},
  })

/** Ids that look like any other, and are made fast. */
const uuid = (kind, n) => {
  const text = hash('md5', `${kind} ${n}`)
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-8${text.slice(17, 20)}-${text.slice(20)}`
}
const SIG = 's'.repeat(86)
const INTENT = 'i'.repeat(1000)
function submitted(n, kid) {
  const at = new Date().toISOString()
  const members = {
    event_id: uuid('event', n),
    action_id: uuid('action', n),
    idp_id: uuid('idp', n),
    session_id: uuid('session', Math.floor(n / STEPS_PER_SESSION)),
    so_id: soId,
    step_sequence: 1 + (n % STEPS_PER_SESSION),
    mandate_id: uuid('mandate', Math.floor(n / STEPS_PER_SESSION)),
    agent: AGENT,
    tool: 'pay',
    requested_action: 'pay',
    profile: 'IDP_STANDARD',
    audit_accessible: true,
    timestamp: at,
    received_at: at,
    declared: {
      goal_id: uuid('goal', n),
      reasoning_type: 'INSTRUCTION',
      confidence_level: '0.93',
      hem_urgency: 'NONE',
      mission_ref: null,
    },
    intent_digest: hash('sha256', String(n)),
    intent: INTENT,
    evidence_digest: hash('sha256', `key ${n}`),
    kid,
    sig: SIG,
  }
  return { type: 'IDP_SUBMITTED', json: JSON.stringify(members), members, listed: null }
}
/** Each session ends with its last step: what stays is that it is over. */
const closed = (n, kid) => {
  const session_id = uuid('session', Math.floor(n / STEPS_PER_SESSION))
  const members = { session_id, reason: 'idle', kid, sig: SIG }
  return { type: 'SESSION_CLOSED', json: JSON.stringify(members), members, listed: null }
}

async function generate(dir, key, count) {
  const journal = await open(dir, key)
  const { kid } = key.keys[0]
  for (let n = 0; n < count; ) {
    const entries = []
    for (const end = Math.min(count, n + BATCH); n < end; n++) {
      entries.push(submitted(n, kid))
      if ((n + 1) % STEPS_PER_SESSION === 0) entries.push(closed(n, kid))
    }
    await journal.append(entries, { checked: true })
  }
  await journal.close()
}

const timed = async (work) => {
  const started = performance.now()
  const value = await work()
  return { ms: performance.now() - started, value }
}
const MB = 1024 * 1024

/** In a process of its own, so that its memory is that of a start and nothing else. */
async function boot(dir, key, wantsSnapshot) {
  const before = process.memoryUsage().rss
  const state = createEmbeddedState({ tenant: null })
  const started = await timed(async () => {
    const journal = await open(dir, key)
    const { snapshot } = journal
    const fault = snapshot === null ? null : state.load(snapshot.state)
    if (fault !== null) throw new Error(fault)
    for await (const raw of journal.lines(snapshot === null ? 1 : snapshot.seq + 1)) {
      const line = readLine(raw)
      if (line !== null) state.apply(line)
    }
    return journal
  })
  global.gc?.()
  const { rss, heapUsed, arrayBuffers } = process.memoryUsage()
  const { ids, bytes } = state.sizes()
  const told = { ms: started.ms, ids, index: bytes, rss: rss - before, heapUsed, arrayBuffers }
  if (wantsSnapshot) {
    const first = await timed(() => state.dump())
    // Texts of full chunks are made once: what every later snapshot costs.
    const again = await timed(() => state.dump())
    const whole = await timed(() => started.value.writeSnapshot(again.value))
    const { size } = await stat(join(dir, 'journal', 'snapshot'))
    told.snapshot = { first: first.ms, again: again.ms, whole: whole.ms, size }
  }
  await started.value.close()
  return told
}

if (process.send === undefined) {
  const [count = 1_000_000] = SHORT ? [2000] : args.map(Number)
  const dir = await mkdtemp(join(tmpdir(), 'bench-intent-boot-'))
  try {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const pem = {
      public: publicKey.export({ format: 'der', type: 'spki' }).subarray(-32).toString('hex'),
      private: privateKey.export({ format: 'pem', type: 'pkcs8' }),
    }
    await writeFile(join(dir, 'key'), JSON.stringify(pem))
    await generate(dir, signerOf(pem), count)
    const child = (wantsSnapshot) =>
      new Promise((resolve, reject) => {
        const started = fork(new URL(import.meta.url), [dir, wantsSnapshot ? 'snapshot' : ''], {
          execArgv: ['--expose-gc'],
        })
        started.once('message', resolve)
        started.once('exit', (code) => code !== 0 && reject(new Error(`ended with ${code}`)))
      })
    console.log(`${count} declarations committed, ${Math.ceil(count / STEPS_PER_SESSION)} sessions`)
    const show = ({ ms, ids, index, rss, heapUsed }, name) =>
      console.log(
        `  ${name.padEnd(20)} boot ${ms.toFixed(0)} ms  ids ${ids}  index ${(index / MB).toFixed(1)} MB  heap ${(heapUsed / MB).toFixed(0)} MB  resident +${(rss / MB).toFixed(0)} MB`,
      )
    const without = await child(true)
    show(without, 'without a snapshot')
    show(await child(false), 'with a snapshot')
    const { first, again, whole, size } = without.snapshot
    console.log(
      `  snapshot: ${(size / MB).toFixed(1)} MB  dump, first ${first.toFixed(1)} ms, again ${again.toFixed(1)} ms  writing ${whole.toFixed(0)} ms`,
    )
  } finally {
    await rm(dir, { recursive: true, force: true })
  }
} else {
  const [dir, wantsSnapshot] = process.argv.slice(2)
  const pem = JSON.parse(await readFile(join(dir, 'key'), 'utf8'))
  process.send(await boot(dir, signerOf(pem), wantsSnapshot === 'snapshot'))
  process.disconnect()
}
