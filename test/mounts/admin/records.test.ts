import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import fc from 'fast-check'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import type { Capsule } from '../../../src/core/capsule/model.js'
import { decodeSign1 } from '../../../src/core/statement/sign1.js'
import { verifyLedger, verifyStatement } from '../../../src/verify.js'
import { OTHER_TOKEN } from '../../support/rig.js'
import { idsOf, type Plane, startPlane } from './harness.js'

type Entry = {
  seq: number
  at: string
  agent: string | null
  tool: string | null
  capsule: Capsule
}
type Page = { capsules: Entry[]; next_cursor: string | null }
type Items = { awaiting: { capsule_id: string }[]; blocked: { capsule_id: string }[] }

const other = { caller: { bearer: OTHER_TOKEN, certificate: null, asserted: null, source: '::1' } }
let plane: Plane
let ids: Record<
  'executed' | 'blocked' | 'waiting' | 'denied',
  { actionId: string; capsuleId: string }
>

beforeAll(async () => {
  plane = await startPlane()
  ids = {
    executed: idsOf(await plane.refund('50.00')),
    blocked: idsOf(await plane.refund('900.00')),
    waiting: idsOf(await plane.refund('200.00')),
    denied: idsOf(await plane.refund('1.00', other)),
  }
})
afterAll(() => plane.close())

describe('actions and capsules', () => {
  it('tells what became of an action, with tool and agent where it was dispatched', async () => {
    const executed = (await plane.ask('GET', `/v1/actions/${ids.executed.actionId}`)).json()
    expect(executed).toMatchObject({
      state: 'concluded',
      verdict: 'executed',
      capsule_id: ids.executed.capsuleId,
      agent: 'support-bot',
      tool: 'create_refund',
      effect_status: 'confirmed',
    })
    const blocked = (await plane.ask('GET', `/v1/actions/${ids.blocked.actionId}`)).json()
    expect(blocked).toMatchObject({ verdict: 'blocked', agent: null, tool: null })
    const nothing = '01890a5d-ac96-774b-bcce-b302099a8057'
    expect((await plane.ask('GET', `/v1/actions/${nothing}`)).status).toBe(404)
  })

  it('gives a capsule as JSON, and its statement byte for byte as COSE that verifies', async () => {
    const path = `/v1/capsules/${ids.executed.capsuleId}`
    const asJson = await plane.ask('GET', path)
    const cose = await plane.ask('GET', path, { headers: { accept: 'application/cose' } })
    expect([asJson.type, cose.type]).toEqual(['application/json', 'application/cose'])
    const sign1 = decodeSign1(new Uint8Array(cose.bytes))
    if (!sign1.ok) throw new Error(sign1.detail)
    expect(JSON.parse(Buffer.from(sign1.sign1.payload).toString())).toEqual(asJson.json())
    const { keys } = (await plane.ask('GET', '/v1/keys')).json<{ keys: never[] }>()
    const verified = await verifyStatement(new Uint8Array(cose.bytes), {
      keys,
      profile: 'strict',
      crypto: nodeCrypto,
    })
    expect(verified.ok).toBe(true)
    const wrong = Buffer.from(cose.bytes)
    wrong[wrong.length - 1] = (wrong[wrong.length - 1] as number) ^ 1
    const broken = await verifyStatement(wrong, { keys, profile: 'strict', crypto: nodeCrypto })
    expect(broken.ok).toBe(false)
    expect((await plane.ask('GET', `/v1/capsules/${'0'.repeat(64)}`)).status).toBe(404)
  })

  const list = async (query: string): Promise<Page> =>
    (await plane.ask('GET', `/v1/capsules?${query}`)).json<Page>()
  const classes = ({ capsules }: Page): string[] =>
    capsules.map(({ capsule }) => capsule.disposition.verdict_class)

  it('filters by verdict, tool, agent, decision and time, newest first', async () => {
    const waiting = expect.stringMatching(/needs_decision|hitl_dispatched/)
    expect(classes(await list(''))).toEqual(['denied', waiting, 'blocked', 'executed', 'denied'])
    expect(classes(await list('verdict=blocked'))).toEqual(['blocked'])
    const refunds = await list('tool=create_refund')
    expect(classes(refunds)).toEqual(['denied', waiting, 'blocked', 'executed'])
    expect(classes(await list('tool=create_refnd'))).toEqual([])
    expect(classes(await list('agent=support-bot'))).toEqual([waiting, 'blocked', 'executed'])
    // A refusal names its agent, so its developer's name finds nothing.
    expect(classes(await list('agent=other-bot'))).toEqual(['denied'])
    expect(classes(await list('agent=other-bot%401'))).toEqual([])
    const [denied, , blocked, executed] = refunds.capsules
    expect([denied?.agent, denied?.tool]).toEqual(['other-bot', 'create_refund'])
    for (const one of [blocked, executed]) {
      expect([one?.agent, one?.tool]).toEqual(['support-bot', 'create_refund'])
    }
    expect(classes(await list(`decision=${ids.waiting.actionId}`))).toEqual([waiting])
    expect(classes(await list(`decision=${ids.waiting.capsuleId}`))).toEqual([])
    const { capsules } = await list('')
    const at = String(capsules[2]?.at)
    const early = await list(`to=${at}`)
    const late = await list(`from=${at}`)
    expect(early.capsules.every((entry) => entry.at <= at)).toBe(true)
    expect(late.capsules.every((entry) => entry.at >= at)).toBe(true)
    expect(early.capsules.length + late.capsules.length).toBeGreaterThanOrEqual(capsules.length)
  })

  it('pages to the same list whatever the page size', async () => {
    const whole = (await list('limit=200')).capsules.map(({ seq }) => seq)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 7 }), async (limit) => {
        const seen: number[] = []
        let cursor: string | null = null
        do {
          const page: Page = await list(
            `limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`,
          )
          expect(page.capsules.length).toBeLessThanOrEqual(limit)
          seen.push(...page.capsules.map(({ seq }) => seq))
          cursor = page.next_cursor
        } while (cursor !== null)
        expect(seen).toEqual(whole)
      }),
      { numRuns: 7 },
    )
  })
})

describe('open items', () => {
  const items = async (): Promise<Items> => (await plane.ask('GET', '/v1/open-items')).json<Items>()
  const idList = (group: Items['blocked']): string[] => group.map(({ capsule_id }) => capsule_id)
  /** The independent verifier over the journal's own bytes: the seed's predicate (§5.4.4). */
  const predicate = async (): Promise<readonly string[]> => {
    const lines = (await plane.rig.lines()).filter(({ type }) => type === 'CAPSULE')
    const text = lines.map(({ capsule }) => JSON.stringify(capsule)).join('\n')
    return verifyLedger(Buffer.from(text), { profile: 'strict', crypto: nodeCrypto }).open_items
  }
  const close = (capsule_ids: string[], as: 'operator' | 'approver' = 'operator') =>
    plane.ask('POST', '/v1/open-items/close', { as, body: { capsule_ids, reason: 'handled: T-9' } })

  it('are the seed predicate in two groups', async () => {
    const { awaiting, blocked } = await items()
    expect(idList(awaiting)).toContain(ids.waiting.capsuleId)
    expect(idList(blocked)).toContain(ids.blocked.capsuleId)
    expect([...idList(awaiting), ...idList(blocked)].sort()).toEqual(
      [...(await predicate())].sort(),
    )
  })

  it('blocked ones close with a resolved capsule by a person, whose name stays private', async () => {
    const answered = await close([ids.blocked.capsuleId], 'approver')
    expect(answered.status).toBe(200)
    const [result] = answered.json<{ results: { result: string; resolved_by: string }[] }>().results
    expect(result?.result).toBe('closed')
    const found = await plane.ask('GET', `/v1/capsules/${result?.resolved_by}`)
    const capsule = found.json<Capsule>()
    expect(capsule).toMatchObject({
      disposition: { verdict_class: 'resolved', approver: 'human', human_disposed: true },
      chain: { parent_capsule_id: ids.blocked.capsuleId, relation: 'supersedes' },
      'dev.capsulegate.decision_id': ids.blocked.actionId,
    })
    expect(found.bytes.toString()).not.toMatch(/the-approver|handled/)
    const evidence = await plane.ask('GET', `/v1/evidence/${capsule.action_id}`, { as: 'auditor' })
    expect(evidence.bytes.toString()).toMatch(/the-approver/)
    expect(evidence.bytes.toString()).toMatch(/handled: T-9/)
    expect(idList((await items()).blocked)).not.toContain(ids.blocked.capsuleId)
    expect([...(await predicate())].sort()).toEqual(
      [...idList((await items()).awaiting), ...idList((await items()).blocked)].sort(),
    )
  })

  it('close once: a second time, an unknown one and one that awaits a decision are refused', async () => {
    for (const id of [ids.blocked.capsuleId, '0'.repeat(64), ids.waiting.capsuleId]) {
      const before = plane.gate.data.journal.head().seq
      expect((await close([id])).status).toBe(409)
      expect(plane.gate.data.journal.head().seq).toBe(before)
    }
  })

  it('close in bulk, each told by itself, once although twenty close them at the same time', async () => {
    const made: string[] = []
    for (let i = 0; i < 10; i++) {
      made.push(idsOf(await plane.refund('900.00', {}, `bulk-${i}`)).capsuleId)
    }
    const asked = [...made, made[0] as string, '0'.repeat(64)]
    const answers = await Promise.all(Array.from({ length: 20 }, () => close(asked)))
    const closed = answers.flatMap((answered) =>
      answered
        .json<{ results: { capsule_id: string; result: string }[] }>()
        .results.filter(({ result }) => result === 'closed')
        .map(({ capsule_id }) => capsule_id),
    )
    expect(closed.sort()).toEqual([...made].sort())
    const superseding = (await plane.rig.capsules()).filter(({ capsule }) =>
      made.includes((capsule as unknown as Capsule).chain?.parent_capsule_id ?? ''),
    )
    expect(superseding).toHaveLength(10)
    expect([...(await predicate())].sort()).toEqual(
      [...idList((await items()).awaiting), ...idList((await items()).blocked)].sort(),
    )
  })
})

describe('outcomes', () => {
  const state = (body: object) => plane.ask('POST', '/v1/outcomes', { body })

  it('stand beside the original under its subject, and change nothing in it', async () => {
    const path = `/v1/capsules/${ids.executed.capsuleId}`
    const before = (await plane.ask('GET', path)).bytes
    const answered = await state({
      action_id: ids.executed.actionId,
      status: 'reverted',
      ref: 'chargeback-7',
    })
    expect(answered.status).toBe(201)
    const { capsule } = answered.json<{ capsule: Capsule }>()
    expect(capsule).toMatchObject({
      action_type: 'fyi',
      'dev.capsulegate.outcome_of': ids.executed.capsuleId,
      'dev.capsulegate.decision_id': ids.executed.actionId,
      effect: {
        status: 'reverted',
        effect_attestation: 'runtime_claimed',
        external_ref: 'chargeback-7',
      },
    })
    expect(capsule.action_id).not.toBe(ids.executed.actionId)
    expect((await plane.ask('GET', path)).bytes).toEqual(before)
    const cose = await plane.ask('GET', `/v1/capsules/${capsule.capsule_id}`, {
      headers: { accept: 'application/cose' },
    })
    const verified = await verifyStatement(new Uint8Array(cose.bytes), {
      keys: [...plane.gate.data.keys()],
      profile: 'strict',
      crypto: nodeCrypto,
    })
    expect(verified.ok).toBe(true)
    expect(verified.header?.statement).toBe('outcome')
    expect(verified.header?.sub).toBe(`urn:agent-action-capsule:acme:${ids.executed.actionId}`)
  })

  it('confirmed by word stays dispatched: the gate did not see it', async () => {
    const answered = await state({
      action_id: ids.executed.actionId,
      status: 'confirmed',
      ref: 'x',
    })
    expect(answered.json<{ capsule: Capsule }>().capsule.effect?.status).toBe('dispatched')
  })

  it('of an unknown action are 404, of one that never left 409, and leave no line', async () => {
    const before = plane.gate.data.journal.head().seq
    const unknown = '01890a5d-ac96-774b-bcce-b302099a8057'
    const base = { status: 'failed', ref: 'x' }
    expect((await state({ ...base, action_id: unknown })).status).toBe(404)
    const refused = await state({ ...base, action_id: ids.denied.actionId })
    expect([refused.status, refused.json().code]).toEqual([409, 'never_dispatched'])
    expect(plane.gate.data.journal.head().seq).toBe(before)
  })
})

describe('private data', () => {
  it('is on the evidence route and nowhere else', async () => {
    await plane.refund('77.31', {}, 'order-of-nobody-else')
    const { actionId } = idsOf(await plane.refund('931.17', {}, 'order-of-nobody-else'))
    const evidence = await plane.ask('GET', `/v1/evidence/${actionId}`, { as: 'auditor' })
    expect(evidence.bytes.toString()).toContain('931.17')
    const paths = [
      '/v1/capsules?limit=200',
      `/v1/actions/${actionId}`,
      '/v1/open-items',
      '/metrics',
    ]
    for (const path of paths) {
      const text = (await plane.ask('GET', path)).bytes.toString()
      expect(text).not.toMatch(/931\.17|77\.31|order-of-nobody-else|private-answer/)
    }
  })

  it('is erased by key: 410 afterwards, the digests stay, and the journal tells without the name', async () => {
    const day = new Date().toISOString().slice(0, 10)
    const { actionId, capsuleId } = idsOf(await plane.refund('900.00', {}, 'to-be-erased'))
    const before = (await plane.ask('GET', `/v1/capsules/${capsuleId}`)).bytes
    const subject = await plane.ask('POST', '/v1/evidence/erase', {
      body: { subject: 'anna@x.org' },
    })
    expect(subject.json()).toEqual({ records: 0 })
    const erased = await plane.ask('POST', '/v1/evidence/erase', {
      body: { operator: 'acme', day },
    })
    expect(erased.json<{ records: number }>().records).toBeGreaterThan(0)
    const gone = await plane.ask('GET', `/v1/evidence/${actionId}`)
    expect([gone.status, gone.json().code]).toEqual([410, 'erased'])
    const line = (await plane.rig.lines()).findLast(({ type }) => type === 'EVIDENCE_ERASED')
    expect(gone.json().detail).toContain(`is erased by line ${line?.seq} of ${line?.at}`)
    expect((await plane.ask('GET', `/v1/capsules/${capsuleId}`)).bytes).toEqual(before)
    const lines = (await plane.rig.lines()).filter(({ type }) => type.startsWith('EVIDENCE_'))
    expect(lines.map(({ type }) => type)).toEqual([
      'EVIDENCE_ERASING',
      'EVIDENCE_ERASED',
      'EVIDENCE_ERASING',
      'EVIDENCE_ERASED',
    ])
    expect(JSON.stringify(lines)).not.toMatch(/anna|the-operator/)
    const actor = plane.gate.parts.tenant.voter('the-operator')
    expect(lines[3]).toMatchObject({ operator: 'acme', day, actor })
    // Who erased the day is not erased with it.
    const who = await plane.ask('GET', `/v1/evidence/${String(lines[3]?.evidence_digest)}`)
    expect(who.json()).toMatchObject({ parts: [{ value: { name: 'the-operator', did: 'ERASE' } }] })
    expect(lines.every(({ sig }) => typeof sig === 'string')).toBe(true)
  })

  it('is told as damaged where it was changed, as missing where its key is gone without a line', async () => {
    const { actionId } = idsOf(await plane.refund('900.00', {}, 'to-be-lost'))
    const told = async (): Promise<unknown[]> => {
      const { status, json } = await plane.ask('GET', `/v1/evidence/${actionId}`)
      return [status, json().code]
    }
    expect((await plane.ask('GET', `/v1/evidence/${actionId}`)).status).toBe(200)
    const file = join(plane.rig.dir, 'data', 'evidence', 'segments', '0000000001.seg')
    const whole = readFileSync(file)
    const changed = Buffer.from(whole)
    changed.writeUInt8((changed.at(-30) ?? 0) ^ 1, changed.length - 30)
    writeFileSync(file, changed)
    expect(await told()).toEqual([500, 'evidence_damaged'])
    writeFileSync(file, whole)
    while (plane.gate.read.evidenceRecords().detail === 'under way') {
      await new Promise((resolve) => setImmediate(resolve))
    }
    const day = new Date().toISOString().slice(0, 10)
    await plane.gate.data.evidence.erase({ operator: 'acme', day })
    expect(await told()).toEqual([500, 'evidence_missing'])
  })
})
