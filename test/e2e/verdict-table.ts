import { afterAll, afterEach, describe, expect, it } from '@jest/globals'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { type Code, type Mount, TABLE } from '../../src/core/verdict/table.js'
import { decisionOfRow } from '../../src/core/verdict/verdict.js'
import { verifyStatement } from '../../src/core/verify/statement.js'
import { govern } from '../../src/gate/govern/govern.js'
import { createMemory } from '../../src/gate/memory.js'
import { statementOf } from '../../src/gate/operate/prove.js'
import { expectConformance } from '../support/conformance.js'
import { WITH_INTENT } from '../support/intent-scenarios.js'
import { privateIn } from '../support/private-words.js'
import { type CapsuleLine, type Rig, rig, TOKEN } from '../support/rig.js'
import {
  held,
  MANIFEST,
  POLICIES,
  SCENARIOS,
  type Scenario,
  SECRET,
} from '../support/verdict-scenarios.js'
import { expectTold } from './expect-told.js'

/**
 * The verdict table on a mount: every row that can happen there is made to happen from outside, and the
 * record must say what the table says, once. Rows are told in test/support/verdict-scenarios.ts.
 */
export type MountUnderTest = {
  readonly name: string
  readonly mount: Mount
  readonly manifest?: string
  /** Rows of the mount that this way into it cannot reach, each with the reason. */
  readonly unreachable?: Partial<Record<Code, string>>
  open(gate: RunningGate): Promise<Way>
}
/** A way in: calls are made through it, tools behave as the row needs it. */
export type Way = {
  /** What the tool does from now on. `code` is for mounts whose tool is no server. */
  behave(doing: Doing): Promise<void>
  ask(call: HttpCall, code: Code): Promise<Told | null>
  /** What the agent reads of its own action under `/.gate/v1`, all octets; where the mount serves it. */
  readonly readOwn?: (method: string, path: string, call: HttpCall) => Promise<string>
  /** Takes the call under way back; resolves when the mount has seen that. Where a protocol has such a thing. */
  readonly cancel?: () => Promise<void>
  /** Resolves when the tool has been reached. */
  readonly reached: () => Promise<void>
  close(): Promise<void>
}
export type Doing = { readonly code: Code; readonly tool: Scenario['tool']; readonly cut: boolean }
/** What the caller was told; null where it was no longer there, or got its own error. */
export type Told = {
  readonly status: number
  readonly problem: { readonly [name: string]: unknown } | null
  /** All of it: on a socket every octet, head included; in process the fields and the text. */
  readonly wire: string
}

/** Rows that no call ends in: deciders and deadlines bring them about, whatever the mount. */
const NOT_BY_A_CALL = [
  'approval_refused',
  'approval_withdrawn',
  'approval_deferred',
  'approval_escalated',
  'approval_expired',
  'approval_timed_out',
  'session_escalated',
  'session_unattended',
  'session_resumed',
  'session_ended',
] as const satisfies readonly Code[]

type Row = Scenario & {
  /** Names the approval that the first call was told of. */
  readonly namesApproval?: true
  readonly crash?: true
}
const { executed, approval_pending, deadline_after_dispatch, tool_failed } = SCENARIOS
const ROWS: Partial<Record<Code, Row>> = {
  ...SCENARIOS,
  approval_mismatch: {
    call: SCENARIOS.constraint_failed.call,
    first: [{ call: approval_pending.call }],
    namesApproval: true,
  },
  claimed: executed,
  permits_exhausted: { call: held, doing: 'permits_held' },
  ungated_report: executed,
  held_memory_exhausted: { call: held, doing: 'no_memory_to_hold' },
  tool_changed: { call: executed.call, first: [{ call: executed.call }] },
  unfinished: executed,
  call_cancelled: { call: executed.call, doing: 'cancel_before_first_byte' },
  runtime_failed: { call: executed.call, ...(tool_failed.tool && { tool: tool_failed.tool }) },
  recovered: { ...deadline_after_dispatch, crash: true },
}

export function verdictTable(under: MountUnderTest): void {
  const codes = (Object.keys(TABLE) as Code[]).filter(
    (code) =>
      TABLE[code].mounts.some((mount) => mount === under.mount) &&
      !NOT_BY_A_CALL.some((other) => other === code) &&
      under.unreachable?.[code] === undefined,
  )

  describe(`every row through ${under.name}`, () => {
    let turn: (() => Promise<void>) | null = null
    const start = (): Promise<Rig> =>
      rig({
        manifest: under.manifest ?? MANIFEST,
        policies: POLICIES,
        agentKeys: 1,
        ...WITH_INTENT,
        seam: async (name) => {
          if (name === 'before_first_byte' && turn !== null) await turn()
        },
      })
    /** For rows that leave nothing behind but their capsule; the others get a gate of their own. */
    let shared: Rig | null = null
    let at: Rig | null = null
    let way: Way | null = null
    afterEach(async () => {
      turn = null
      await way?.close()
      if (at !== shared) await at?.close()
    })
    afterAll(() => shared?.close())

    it.each(codes)('%s', async (code) => {
      const row = ROWS[code]
      if (row === undefined) throw new Error(`nobody has told how ${code} happens`)
      const alone =
        row.doing ?? row.first ?? row.before ?? row.crash ?? code.startsWith('approval_')
      let here = alone ? await start() : (shared ?? (await start()))
      if (!alone) shared = here
      at = here
      way = await under.open(faulty(here.gate, row))
      const { behave, ask, reached } = way
      let approvalId: string | null = null
      for (const { call, tool } of row.first ?? []) {
        await behave({ code: 'executed', tool, cut: tool !== undefined })
        const { told } = await recorded(here, () => ask(call, 'executed'))
        approvalId = String(told?.problem?.approval_id)
      }
      await row.before?.(here.gate)
      await behave({ code, tool: row.tool, cut: false })
      if (row.doing === 'halt') await here.gate.halt({ kind: 'agent', name: 'support-bot' }, 'test')
      if (row.doing === 'turn_before_first_byte') {
        turn = () => here.gate.halt({ kind: 'agent', name: 'somebody-else' }, 'test')
      }
      if (row.doing === 'cancel_before_first_byte') turn = async () => way?.cancel?.()
      const call =
        row.namesApproval === true ? otherThan(approval_pending.call, approvalId) : row.call
      if (row.crash === true) {
        ask(call, code).catch(() => undefined)
        await reached()
        here = await here.restart()
        at = here
        await expectRow(code, await here.capsules(), here)
        return
      }
      const { told, capsules } = await recorded(here, () => ask(call, code))
      await expectRow(code, capsules, here)
      expectTold(code, told, capsules[0]?.capsule.capsule_id)
      await expectNothingPrivate(told, capsules as [CapsuleLine], here, call, way, code)
      const open = JSON.stringify(await here.lines()) + JSON.stringify(here.reports)
      expect(open).not.toContain(SECRET)
      expect(open).not.toContain(TOKEN)
    })
  })
}

/** Rows after which an agent surely reads of its own action. */
const OWN: readonly Code[] = ['executed', 'constraint_failed', 'policy_denied', 'approval_pending']

/** Neither in a body nor in a field, nor in what the agent asks about its action afterwards (DESIGN §7). */
async function expectNothingPrivate(
  told: Told | null,
  [line]: readonly [CapsuleLine],
  { gate }: Rig,
  call: HttpCall,
  { ask, readOwn }: Way,
  code: Code,
): Promise<void> {
  const { evidence } = gate.data
  if (told !== null && told.problem !== null) {
    expect(await privateIn(told.wire, line, evidence)).toEqual([])
    // Asked again, a refusal is repeated and a question joined, each without a capsule of its own.
    const again = line.capsule.effect === undefined ? await ask(call, code) : null
    expect(await privateIn(again?.wire ?? '', line, evidence)).toEqual([])
  }
  if (readOwn === undefined) return
  const own = `/.gate/v1/actions/${line.capsule.action_id}`
  for (const [method, path] of [
    ['GET', own],
    ['GET', `${own}/result`],
    ['DELETE', own],
    ['PUT', own],
    ['GET', `${own}/policies`],
  ] as const) {
    const read = await readOwn(method, path, call)
    expect(read).toMatch(/^HTTP\/1\.1 \d{3} /)
    if (OWN.includes(code) && path === own && method === 'GET') expect(read).toMatch(/^\S+ 200 /)
    // The result is the tool's own answer.
    if (!/\r\ngate-replayed: true/i.test(read)) {
      expect([method, path, await privateIn(read, line, evidence)]).toEqual([method, path, []])
    }
  }
}

/** The same call with another amount, naming somebody else's approval. */
function otherThan(call: HttpCall, approvalId: string | null): HttpCall {
  const text = Buffer.from(call.body.kind === 'read' ? call.body.bytes : []).toString('utf8')
  const bytes = new TextEncoder().encode(text.replace('150.00', '160.00'))
  return { ...call, approvalId, body: { kind: 'read', bytes } }
}

/** What cannot be caused from outside with the embedded drivers: a fake behind its port. */
function faulty(gate: RunningGate, { doing }: Row): RunningGate {
  const { parts } = gate
  const dead = { ...parts.state, reserve: () => Promise.reject(new Error('store is down')) }
  const seen = {
    ...parts,
    ...(doing === 'state_store_dead' ? { state: dead } : {}),
    approvals: doing !== 'nobody_to_ask',
    ...(doing === 'one_may_wait' ? { openPerAgent: 1 } : {}),
  }
  const memory =
    doing === 'no_memory' || doing === 'no_memory_to_hold'
      ? createMemory({ agentBodyBytes: doing === 'no_memory' ? 99 : 9_999, heldBytes: 99 })
      : null
  return {
    ...gate,
    ...(memory === null ? {} : { memory }),
    govern: (call, dispatch) => govern(call, dispatch, seen),
  }
}

async function recorded(
  at: Rig,
  act: () => Promise<Told | null>,
): Promise<{ told: Told | null; capsules: CapsuleLine[] }> {
  const before = (await at.capsules()).length
  const written = new Promise<void>((resolve) => {
    const stop = at.gate.data.subscribe(({ type }) => {
      if (type !== 'CAPSULE') return
      stop()
      resolve()
    })
  })
  const told = await act()
  await written
  return { told, capsules: (await at.capsules()).slice(before) }
}

async function expectRow(code: Code, capsules: CapsuleLine[], at: Rig): Promise<void> {
  const { gate } = at
  await expectConformance(at)
  expect(capsules).toHaveLength(1)
  const [line] = capsules as [CapsuleLine]
  const row = TABLE[code]
  expect(line.capsule.disposition).toMatchObject({
    verdict_class: row.verdict,
    decision: decisionOfRow(code),
    approver: 'policy',
    human_disposed: false,
  })
  const effect = line.capsule.effect as { status: string } | undefined
  expect(effect?.status ?? 'none').toBe(row.effect)
  const verified = verifyStatement(statementOf(line), {
    keys: gate.data.keys(),
    crypto: nodeCrypto,
  })
  expect(verified).toMatchObject({ ok: true, signature: { ok: true } })
  expect(verified.class1?.findings.filter(({ severity }) => severity !== 'info')).toEqual([])
}
