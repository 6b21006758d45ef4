import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openEvidence } from '../../../src/adapters/evidence/open.js'
import { createKeys } from '../../../src/adapters/keys/create.js'
import { ownSecret } from '../../../src/app/data/secrets.js'
import { signed } from '../../../src/gate/signed-event.js'
import type { Dispatch } from '../../../src/ports/dispatch.js'
import { answered, decide, fakeTime, person, tool, unreachable } from '../../support/approvals.js'
import { describedTool, httpCall } from '../../support/manifests.js'
import { OTHER_TOKEN, type Rig, rig, TOKEN } from '../../support/rig.js'
import { declaredCalls, ISSUER } from './declared-calls.js'
import { type Files, readFolder } from './folder.js'
import { MANIFEST, POLICIES } from './shop.js'

/**
 * One honest data folder, written by a real gate: what every case of this suite begins with. It has each type of
 * line that a gate writes by itself, several closed segments, a snapshot, a second head outside the data folder
 * and evidence in two segments.
 */
export type Story = {
  readonly files: Files
  /** Snapshot and second head as they were at earlier moments, oldest first. */
  readonly earlier: readonly { readonly snapshot: Buffer; readonly head: Buffer }[]
  /** Stands in arguments, answers and names: random and long, so that finding it anywhere means something. */
  readonly secret: string
}

const HOURS = 60 * 60 * 1000
/** So that four segments and more are closed. */
const SEGMENT_BYTES = 14 * 1024

export async function tellStory(): Promise<Story> {
  const dir = mkdtempSync(join(tmpdir(), 'gate-tamper-story-'))
  try {
    return await tell(dir)
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

async function tell(dir: string): Promise<Story> {
  const secret = randomBytes(24).toString('hex')
  // In the past, and never as far as now: a real gate is started on the folder later.
  const time = fakeTime(Date.now() - 20 * HOURS)
  await createKeys(join(dir, 'data', 'keys'), { now: time.clock.now })
  const options = {
    ...{ manifest: MANIFEST, policies: POLICIES, segmentBytes: SEGMENT_BYTES },
    mandateIssuers: ISSUER.options,
    ...{ snapshotEvery: 1_000_000, clock: time.clock, timer: time.timer },
  }
  let at = await rig(options, dir)
  const earlier: { snapshot: Buffer; head: Buffer }[] = []
  const keep = async (): Promise<void> => {
    await at.gate.data.journal.writeSnapshot(at.gate.data.state.dump())
    const journal = join(dir, 'data', 'journal')
    earlier.push({
      snapshot: readFileSync(join(journal, 'snapshot')),
      head: readFileSync(join(dir, 'head')),
    })
  }
  await callsAndRefusals(at, time.advance, secret)
  await keep()
  await at.gate.close()
  await closeEvidenceSegment(dir)
  at = await rig(options, dir)
  await peopleAreAsked(at, time.advance, secret)
  await keep()
  await declaredCalls({ at, now: time.clock.now, secret })
  await operatorsAct(at, time.advance, secret)
  await at.gate.close()
  return { files: readFolder(dir), earlier, secret }
}

/** A store of evidence closes a segment at 16 MiB; here it has to do so sooner, so that one has an index. */
async function closeEvidenceSegment(dir: string): Promise<void> {
  const masterKey = ownSecret(join(dir, 'data', 'keys', 'evidence.key'), 32)
  const store = await openEvidence({
    dir: join(dir, 'data', 'evidence'),
    masterKey,
    segmentBytes: 1,
  })
  const at = new Date().toISOString()
  await store.put({ actionId: 'filler', operator: 'acme', subject: null, at, parts: [] })
  await store.close()
}

type Sent = { readonly actionId: string; readonly capsuleId: string }
type More = {
  readonly agent?: 'support-bot' | 'other-bot' | null
  readonly key?: string
  readonly tool?: Dispatch
}

/** Sends the call and holds the gate to what the story says comes of it. */
async function send(
  { gate }: Rig,
  target: string,
  body: object,
  expected: string,
  more: More = {},
): Promise<Sent> {
  const { agent = 'support-bot', key = null } = more
  const bearer = agent === null ? null : agent === 'support-bot' ? TOKEN : OTHER_TOKEN
  const caller = { bearer, certificate: null, asserted: null, source: '127.0.0.1' }
  const call = httpCall('POST', target, body, { caller, idempotencyKey: key })
  const answer = await gate.govern(call, more.tool ?? tool().dispatch)
  const code = 'code' in answer ? answer.code : answer.kind
  if (code !== expected) throw new Error(`${target}: ${code} instead of ${expected}`)
  if (!('actionId' in answer && 'capsuleId' in answer)) throw new Error(`${target}: no capsule`)
  return { actionId: answer.actionId, capsuleId: answer.capsuleId }
}
type Advance = (seconds: number) => void
const cutOff: Dispatch = async () => ({
  observation: { kind: 'sent', cause: 'reset', deadline: false },
  held: null,
})

async function callsAndRefusals(at: Rig, advance: Advance, secret: string): Promise<void> {
  const refund = (order: string, amount: string, expected: string, more?: More) => {
    advance(1)
    const body = { order: `${order}-${secret}`, currency: 'EUR', amount }
    return send(at, '/v1/refunds', body, expected, more)
  }
  await refund('o-1', '20.00', 'executed')
  await refund('o-2', '30.00', 'executed', { key: `key-${secret}` })
  await refund('o-2', '30.00', 'replayed', { key: `key-${secret}` })
  const unknown = await refund('o-3', '35.50', 'outcome_unknown', { tool: cutOff })
  await refund('o-4', '10.00', 'upstream_unreachable', { tool: async () => unreachable() })
  await refund('o-5', '10.00', 'policy_denied', { agent: 'other-bot' })
  await refund('o-6', '10.00', 'unauthenticated', { agent: null })
  const blocked = await refund('o-7', '600.00', 'constraint_failed')
  await refund('o-8', '700.00', 'constraint_failed')
  await at.gate.closeBlocked(blocked.capsuleId, {
    person: { name: `olga-${secret}`, assurance: 'L1' },
    reason: 'seen',
  })
  advance(1)
  const report = { actionId: unknown.actionId, status: 'confirmed', ref: 'bank-1', by: 'olga' }
  await at.gate.recordOutcome({ ...report, status: 'confirmed' })
  await at.gate.recordDropped({ source: '192.0.2.7', count: 9, windowSeconds: 60 })
  await at.gate.recordPassThrough({
    ...{ method: 'GET', target: '/health', status: 200, upstream: 'default' },
  })
  await send(at, '/v1/notes', { customer: `c-1-${secret}`, note: secret }, 'executed')
  await send(at, '/v1/notes', { customer: `c-2-${secret}`, note: secret }, 'executed')
}

async function peopleAreAsked(at: Rig, advance: Advance, secret: string): Promise<void> {
  const ask = (order: string) => {
    advance(1)
    const body = { order: `${order}-${secret}`, currency: 'EUR', amount: '150.00' }
    return send(at, '/v1/refunds', body, 'approval_pending')
  }
  const again = (order: string, expected: string) =>
    send(
      at,
      '/v1/refunds',
      { order: `${order}-${secret}`, currency: 'EUR', amount: '150.00' },
      expected,
    )
  const { gate } = at
  await ask('pending')
  await again('pending', 'approval_pending')
  const spent = await ask('spent')
  const refused = await ask('refused')
  const reopened = await ask('reopened')
  const deferred = await ask('deferred')
  const withdrawn = await ask('withdrawn')
  const approved = await ask('approved')
  await send(at, '/v1/accounts/close', { account: `a-${secret}` }, 'approval_pending')
  await send(at, '/v1/calls', { driver: `d-${secret}` }, 'approval_pending')
  const deny = { kind: 'deny', reason: secret } as const
  await decide(gate, spent.actionId, person(`alice-${secret}`), { kind: 'approve' })
  await again('spent', 'executed')
  await decide(gate, refused.actionId, person('carol'), deny)
  await again('refused', 'approval_refused')
  await decide(gate, reopened.actionId, person('carol'), deny)
  await gate.reopen(reopened.actionId, { decider: person('bob'), reason: 'a mistake' })
  const later = { kind: 'defer', ttlSeconds: 604_800, onExpiry: 'expired' } as const
  await decide(gate, deferred.actionId, person('bob'), later)
  await gate.withdraw(withdrawn.actionId, 'support-bot')
  await decide(gate, withdrawn.actionId, person('carol'), deny)
  await decide(gate, approved.actionId, person('alice'), { kind: 'approve' })
  advance(120)
  await gate.expireDue()
  advance(3600)
  await gate.expireDue()
}

async function operatorsAct(at: Rig, advance: Advance, secret: string): Promise<void> {
  const { gate } = at
  const standing = (uses: number) => ({
    ...{ agent: 'support-bot', tool: 'send_voucher', uses, by: `olga-${secret}` },
    bounds: { small: { amount: { lte: '50.00' } } },
    expiresAt: new Date(Date.now() + 100 * HOURS).toISOString(),
  })
  await gate.issueStanding(standing(3))
  const voucher = { customer: `c-1-${secret}`, amount: '20.00' }
  await send(at, '/v1/vouchers', voucher, 'executed')
  const revoked = await gate.issueStanding(standing(2))
  if (revoked.kind === 'issued') await gate.revokeStanding(revoked.grant, 'olga')
  advance(1)
  await gate.halt({ kind: 'agent', name: 'other-bot' }, `olga-${secret}`)
  await gate.halt({ kind: 'tool', name: 'write_note' }, 'olga')
  await send(at, '/v1/notes', { customer: 'c-3', note: secret }, 'halted')
  await gate.resume({ kind: 'tool', name: 'write_note' }, 'olga')
  await gate.erase({ subject: `c-1-${secret}` }, 'olga')
  await serversChange(gate, `olga-${secret}`)
  const { journal } = gate.data
  const endpoint = { endpoint: 'ops' }
  await journal.append([signed('WEBHOOK_DISABLED', endpoint, gate.parts)])
  await journal.append([signed('WEBHOOK_ENABLED', endpoint, gate.parts)])
  const dead = { webhook_id: 'w-1', event: 'approval.requested', approval_id: 'a-1', of: 1 }
  await journal.append([signed('WEBHOOK_DEAD', { ...endpoint, ...dead, why: '' }, gate.parts)])
  advance(1)
  const last = tool(answered).dispatch
  const body = { order: `last-${secret}`, currency: 'EUR', amount: '40.00' }
  await send(at, '/v1/refunds', body, 'executed', { key: `last-${secret}`, tool: last })
}

async function serversChange(gate: Rig['gate'], by: string): Promise<void> {
  const server = 'files'
  const described = (words: string) => describedTool('write', words)
  await gate.pinTools(server, [described('Writes a file.'), describedTool('read', 'Reads a file.')])
  const next = described('Writes a file, and makes its folder.')
  await gate.pinTools(server, [next])
  await gate.acceptTool({ server, tool: 'write', definition: next.digest, by })
  await gate.pinTools(server, [described('Writes anything.')])
  await gate.recordServerAsk({ server, method: 'roots/list', agent: 'support-bot', passed: false })
  gate.recordServerFault(server, 'answered_twice')
}
