/**
 * `govern` without HTTP, feature by feature: each row adds one real part to the row above it, the others
 * are stand-ins that do nothing. Interleaved repetitions, medians with spread, ratios in one run.
 */
import { govern } from '../dist/gate/govern/govern.js'
import { benchGate, load } from './spine-load.mjs'
import { floor, median, SHORT, spread, table } from './stats.mjs'

const REPS = SHORT ? 1 : Number(process.env.BENCH_REPS ?? 5)
const CALLS = SHORT ? 64 : Number(process.env.BENCH_CALLS ?? 1500)

const full = await benchGate({ policies: 100, constraints: 5 })
const plain = await benchGate({ policies: 100, constraints: 0 })
const few = await benchGate({ policies: 10, constraints: 5, asked: true })
const many = await benchGate({ policies: 1000, constraints: 5, asked: true })

const real = full.gate.parts
const noJournal = (parts) => {
  let seq = 0
  return {
    ...parts.journal,
    append: async (entries) => entries.map(() => ({ seq: ++seq, at: '', hash: '' })),
  }
}
const noState = {
  ...real.state,
  reserve: async ({ actionId }) => ({ kind: 'reserved', actionId, readings: [] }),
  settle: async () => undefined,
  keyState: async () => null,
}
const noEvidence = { ...real.evidence, put: async () => undefined }
const permit = { kind: 'permit', policies: [], observed: [], request: {} }
const noPolicy = (parts) => () => ({
  ...parts.world(),
  policy: { ...parts.world().policy, decide: () => permit },
})

const stub = (parts) => ({
  ...parts,
  journal: noJournal(parts),
  state: noState,
  evidence: noEvidence,
  world: noPolicy(parts),
})
const bare = stub(plain.gate.parts)
const constrained = stub(real)
const judged = { ...constrained, world: real.world }
const witnessed = { ...judged, evidence: real.evidence }
const ROWS = [
  ['read, match, digest, capsule', bare],
  ['+ 5 constraints with evidence digests', constrained],
  ['+ Cedar, 100 policies', judged],
  ['+ evidence store, durable', witnessed],
  ['+ signed statements, journal and state, durable (the whole spine)', real],
  ['whole spine, 10 policies, asked', few.gate.parts],
  ['whole spine, 1000 policies, asked', many.gate.parts],
]
const rig = (parts) => ({ govern: (call, dispatch) => govern(call, dispatch, parts) })

const runs = ROWS.map(() => ({ cpu: [], c1: [] }))
for (const [, parts] of ROWS) await load(rig(parts), 64, SHORT ? 64 : 300)
for (let rep = 0; rep < REPS; rep++) {
  for (const [index, [, parts]] of ROWS.entries()) {
    runs[index].cpu.push((await load(rig(parts), 64, CALLS)).cpuMicros)
    runs[index].c1.push((await load(rig(parts), 1, Math.ceil(CALLS / 10))).p50)
  }
}
const whole = median(runs[4].cpu)
table(
  ['spine', 'cpu µs, c=64', 'spread', 'of the whole', 'p50 ms, c=1'],
  ROWS.map(([name], i) => [
    name,
    median(runs[i].cpu).toFixed(0),
    spread(runs[i].cpu),
    (median(runs[i].cpu) / whole).toFixed(2),
    median(runs[i].c1).toFixed(2),
  ]),
)
const ratio = median(runs[6].cpu) / median(runs[5].cpu)
floor('cost of the spine at 1,000 policies vs 10, asked', ratio, { atMost: 1.3 })
for (const each of [full, plain, few, many]) await each.close()
