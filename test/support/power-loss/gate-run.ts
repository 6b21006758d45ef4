import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { readJournal } from '../../../src/adapters/journal/read/read-journal.js'
import { exportKeyring } from '../../../src/adapters/keys/keyring.js'
import { rotateKeys } from '../../../src/adapters/keys/rotate.js'
import { compareEvidence } from '../../../src/cli/ledger/evidence.js'
import { readLine } from '../../../src/core/journal/vocabulary.js'
import type { SigningPurpose } from '../../../src/ports/signer.js'
import { verifyLedger } from '../../../src/verify.js'
import { answered, decide, person } from '../approvals.js'
import { type Rig, type RigOptions, refund, rig } from '../rig.js'
import { everySeam, type Run } from './cases.js'
import { type Plan, untilPowerLoss } from './scenario.js'
import type { TestDisk } from './test-disk.js'

const MANIFEST = `id: com.acme.payments
tools:
  create_refund:
    match: POST /v1/refunds
    args: {order: string, currency: string, amount: decimal}
    subject: order
    constraints:
      amount_cap: {amount: {lte: "500.00"}}
      daily: {count: {max: 1000000, window: 24h}}
`
const OPTIONS: RigOptions = { manifest: MANIFEST, segmentBytes: 16 * 1024, snapshotEvery: 30 }
const ORDERS = ['ann', 'ben', 'cyd']
/** Executed, executed, asked about, denied. */
const AMOUNTS = ['5.00', '20.00', '150.00', '600.00']
const PURPOSES: readonly SigningPurpose[] = ['statement', 'event']
const ROUNDS = 4
const AT_ONCE = 5

type Answered = {
  readonly actionId: string
  readonly capsuleId: string
  readonly order: string
  /** False where the answer is that of an earlier action. */
  readonly isOwn: boolean
}
/** What came out of the gate while it had power. */
type Told = {
  readonly answers: Answered[]
  readonly sent: string[]
  readonly decided: string[]
  readonly kids: string[]
  /** Subjects, with the number of answers given when their erasure was ordered; and whether it was confirmed. */
  readonly erasures: { readonly subject: string; readonly after: number; confirmed: boolean }[]
}

/** A gate with small segments under load, keys rotated and evidence erased; then a gate is started on what is left. */
export async function gateRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const told: Told = { answers: [], sent: [], decided: [], kids: [], erasures: [] }
  const left = await untilPowerLoss(run, plan, async (disk, hit) => {
    const seams = everySeam(hit)
    const at = await rig(
      {
        ...OPTIONS,
        seam: hit,
        recorder: { in: 'this_thread', journalSeams: seams, evidenceSeams: seams },
      },
      disk.root,
    )
    try {
      for (let round = 0; round < ROUNDS; round++) await workRound(run, at, disk, told)
    } finally {
      await stopped(at)
    }
  })
  return [...(await wrongAfter(left, told)), ...(await unsound(join(left.root, 'data'), told))]
}

async function workRound({ random }: Run, at: Rig, disk: TestDisk, told: Told): Promise<void> {
  const { gate } = at
  const noted = <T>(list: T[], value: T): void => {
    if (!disk.isCut()) list.push(value)
  }
  const call = async (): Promise<void> => {
    const order = random.pick(ORDERS)
    const key = random.chance(0.3) ? `key-${random.below(6)}` : null
    const sent = refund(random.pick(AMOUNTS), { idempotencyKey: key }, order)
    const began = Date.now()
    const answer = await gate.govern(sent, async ({ actionId, stillAllowed }) => {
      if (disk.isCut() || !stillAllowed()) {
        return {
          observation: { kind: 'not_sent', cause: 'withdrawn', deadline: false },
          held: null,
        }
      }
      told.sent.push(actionId)
      await new Promise((done) => setImmediate(done))
      return answered()
    })
    if (answer.kind === 'unrecorded') {
      if (!disk.isCut()) throw new Error(`with power, a call is not recorded: ${answer.code}`)
      return
    }
    const { actionId, capsuleId } = answer
    const isOwn = madeAt(actionId) >= began
    noted(told.answers, { actionId, capsuleId, order, isOwn })
    if (answer.kind !== 'pending' || random.chance(0.5)) return
    const outcome = random.chance(0.5)
      ? ({ kind: 'approve' } as const)
      : ({ kind: 'deny', reason: 'no' } as const)
    const { kind } = await decide(gate, answer.approvalId, person('pat'), outcome)
    if (kind === 'recorded') noted(told.decided, answer.approvalId)
  }
  const ends = await Promise.allSettled(Array.from({ length: AT_ONCE }, call))
  const failed = ends.find((end) => end.status === 'rejected')
  if (failed !== undefined) throw failed.reason
  if (random.chance(0.3)) {
    const purpose = random.pick(PURPOSES)
    const { active } = await rotateKeys(join(disk.root, 'data', 'keys'), purpose)
    noted(told.kids, active.kid)
  }
  if (random.chance(0.3)) {
    const erasure = {
      subject: random.pick(ORDERS),
      after: told.answers.length,
      confirmed: false,
    }
    told.erasures.push(erasure)
    await gate.erase({ subject: erasure.subject }, 'pat')
    erasure.confirmed = !disk.isCut()
  }
  if (disk.isCut()) throw new Error('the power is gone')
}

/** An action's id begins with the time it was made at. */
const madeAt = (actionId: string): number =>
  Number.parseInt(actionId.replace('-', '').slice(0, 12), 16)

/** Without power a gate closes nothing in order; what it would still do is ended. */
async function stopped({ gate }: Rig): Promise<void> {
  await gate.close().catch(() => undefined)
  await gate.data.journal.close().catch(() => undefined)
  await gate.data.evidence.close().catch(() => undefined)
}

async function wrongAfter(left: TestDisk, told: Told): Promise<readonly string[]> {
  const wrong: string[] = []
  const at = await rig(OPTIONS, left.root)
  const { gate } = at
  const { parts, data } = gate
  const capsules = (await at.capsules()).map(({ capsule }) => capsule)
  const actions = new Set(capsules.map(({ action_id }) => action_id))
  const ids = new Set(capsules.map(({ capsule_id }) => capsule_id))
  if (ids.size !== capsules.length) wrong.push('a capsule stands there twice')
  for (const action of told.sent) {
    if (!actions.has(action)) wrong.push(`${action} was sent and has no capsule`)
  }
  if (new Set(told.sent).size !== told.sent.length) wrong.push('an action was sent twice')
  for (const [index, { actionId, capsuleId, order, isOwn }] of told.answers.entries()) {
    if (!ids.has(capsuleId)) wrong.push(`${actionId} was answered with ${capsuleId}, which is lost`)
    const ordered = told.erasures.filter(({ subject }) => subject === order)
    const later = ordered.filter(({ after }) => after > index)
    const { state } = await data.evidence.byAction(actionId)
    const possible: string[] = later.some(({ confirmed }) => confirmed) ? [] : ['present']
    if (later.length > 0 || (!isOwn && ordered.length > 0)) possible.push('erased')
    if (!possible.includes(state)) wrong.push(`the evidence of ${actionId} is ${state}`)
  }
  for (const id of told.decided) {
    const state = (await parts.state.approval(id))?.state.kind
    if (state === undefined || state === 'pending') wrong.push(`the decision on ${id} is lost`)
  }
  const kids = exportKeyring(join(left.root, 'data', 'keys')).keys.map(({ kid }) => kid)
  for (const kid of told.kids) if (!kids.includes(kid)) wrong.push(`key ${kid} is lost`)
  const { damage } = await data.journal.verified
  if (damage !== null) wrong.push(`damage: ${damage}`)
  for (const { ok, reason } of [data.journal.health(), data.evidence.health()]) {
    if (!ok) wrong.push(`not healthy: ${reason}`)
  }
  const answer = await gate.govern(refund('5.00', {}, 'eve'), async () => answered())
  if (answer.kind !== 'executed') wrong.push(`a call after the start is ${answer.kind}`)
  await gate.close()
  return wrong
}

/**
 * As `capsule-gate verify` looks at it: every line from the first, every signature, and every digest of what was
 * answered. A call that was under way may have its line and not its evidence: the two are synced side by side.
 */
async function unsound(data: string, told: Told): Promise<readonly string[]> {
  let text = ''
  // An erasure that was ordered and not confirmed may be done, and has to be ordered again.
  const doubtful = told.erasures.flatMap(({ subject, confirmed }) => (confirmed ? [] : [subject]))
  const answers = new Set(
    told.answers.flatMap(({ capsuleId, order }) => (doubtful.includes(order) ? [] : [capsuleId])),
  )
  const answered = new Set<number | null>()
  for await (const { line: raw, raw: octets } of readJournal(join(data, 'journal'))) {
    text += `${Buffer.from(octets).toString('utf8').replace(/\n$/, '')}\n`
    const line = readLine(raw)
    if (line?.type === 'CAPSULE' && answers.has(line.capsule.capsule_id)) answered.add(line.seq)
  }
  const { keys } = exportKeyring(join(data, 'keys'))
  const { results, journal } = verifyLedger(text, { keys, crypto: nodeCrypto })
  const wrong = results.flatMap((result) => (result.ok ? [] : [JSON.stringify(result)]))
  if (journal?.status !== 'valid' || journal.complete?.ok !== true) {
    wrong.push(`the journal is ${JSON.stringify(journal)}`)
  }
  const report = await compareEvidence({ data, masterKey: join(data, 'keys', 'evidence.key') })
  if (report.kind !== 'compared') return [...wrong, report.why]
  const lost = report.findings.filter(({ seq }) => answered.has(seq))
  return [...wrong, ...lost.map((finding) => JSON.stringify(finding))]
}
