import type { Agent } from '../core/call/agent.js'
import type { Call, Caller } from '../core/call/call.js'
import type { MembersOf } from '../core/journal/vocabulary.js'
import { upstreamOf } from '../core/manifest/route/match.js'
import type { RuntimeReport } from '../core/runtime/report.js'
import type { Dispatch } from '../ports/dispatch.js'
import type { Identified } from '../ports/identity.js'
import type { SessionOpening } from '../ports/state.js'
import type { Answer } from './answer/answer.js'
import { type Collectable, collect } from './answer/collect.js'
import { type Closed, type ClosedBy, closeBlocked } from './approval/decide/close-blocked.js'
import { resolve } from './approval/decide/decide.js'
import type { Decider, Decision, Resolution } from './approval/decide/model.js'
import { type Reopening, reopen } from './approval/decide/reopen.js'
import { startExpiry } from './approval/expire-timer.js'
import { recoverItems, type Unasked } from './approval/recover-items.js'
import { type BackgroundDispatch, createBackground } from './approval/run-approved.js'
import {
  issueStanding,
  revokeStanding,
  type StandingIssued,
  type StandingOrder,
} from './approval/standing.js'
import { type Withdrawal, withdraw } from './approval/withdraw.js'
import type { GateReport, Parts, World } from './context.js'
import { type Backlog, watchEvidence } from './evidence/watch.js'
import { identify } from './govern/begin.js'
import { govern } from './govern/govern.js'
import { auditSessions } from './intent/sessions/audit-sessions.js'
import { startIdle } from './intent/sessions/idle.js'
import { createMemory, DEFAULT_MEMORY, type Memory, type MemoryLimits } from './memory.js'
import { closeSession, type SessionClosing } from './operate/close-session.js'
import { type Dropped, recordDropped } from './operate/dropped.js'
import { type ErasureScope, eraseEvidence } from './operate/erase.js'
import { type HaltScope, type Halts, recordHalt, sameScope } from './operate/halt.js'
import { openSession } from './operate/open-session.js'
import {
  type OutcomeRecorded,
  type OutcomeReport,
  recordOutcome,
  recordTaskResult,
  type TaskResult,
} from './operate/outcome.js'
import { type PassedThrough, recordPassThrough } from './operate/pass-through.js'
import { prove } from './operate/prove.js'
import { type Orphan, recover } from './operate/recover.js'
import { revokeMandate } from './operate/revoke-mandate.js'
import { type Phase, setMission } from './operate/set-mission.js'
import { type ObjectSetting, setObject } from './operate/set-object.js'
import { createPermits, type Permits } from './permit/permits.js'
import { type Reported, takeReport } from './permit/report.js'
import { limitUngated } from './permit/ungated-limit.js'
import { createRead, type Read } from './read.js'
import { type Acceptance, type Accepted, acceptTool } from './servers/accept-tool.js'
import { createAsks, type RecordAsk } from './servers/asks.js'
import { createFaults, type RecordFault } from './servers/faults.js'
import { createPinning, type PinTools } from './servers/pin-tools.js'
import { signed } from './signed-event.js'

export type Judges = Omit<World, 'generation'>

/** The running gate: the spine with its current world. Everything durable is behind its ports. */
export type Gate = {
  /** Who is calling, from the head of a request alone; never rejects. */
  identify(caller: Caller): Identified | Promise<Identified>
  /** Whether a manifest has a rule for such a request, also by another spelling of its path. */
  governs(method: string, target: string): boolean
  /** `identified`: the result of `identify`, where the mount has it already. */
  govern(call: Call, dispatch: Dispatch, identified?: Identified): Promise<Answer>
  /** An action's kept response once more, under the halts and policies of now; null where none is kept. */
  collect(call: Call, agent: Agent, action: Collectable): Promise<Answer | null>
  /** What a runtime that acted itself says of the act; resolves when that is on record. */
  takeReport(actionId: string, agent: Agent, report: RuntimeReport): Promise<Reported>
  /** Journalled and durable before it takes effect; effective on the next call and on calls not yet sent. */
  halt(scope: HaltScope, by: string): Promise<void>
  resume(scope: HaltScope, by: string): Promise<void>
  // What operators do about declared calls: each is in force once it is durable, for calls not yet sent too.
  /** Opens a session for one agent, before its first declaration. */
  openSession(order: { sessionId: string; agent: string; by: string }): Promise<SessionOpening>
  /** Ends a session, for good, and what people are asked about it. */
  closeSession(sessionId: string, by: string): Promise<SessionClosing>
  /** `false`: it was revoked before. */
  revokeMandate(mandateId: string, by: string): Promise<boolean>
  /** `false`: the mission is in that phase. */
  setMission(missionRef: string, phase: Phase, by: string): Promise<boolean>
  setObject(soId: string, state: string, by: string): Promise<ObjectSetting>
  /** New policies, manifests or mode; the change is journalled, then every call sees it. */
  change(next: Judges): Promise<void>
  /** A decision on an open item; the caller has authenticated the decider. */
  resolve(decision: Decision): Promise<Resolution>
  /** The agent takes its own request to a human back. */
  withdraw(approvalId: string, agent: string): Promise<Withdrawal>
  /** Lifts a person's refusal, so that a human is asked again. */
  reopen(approvalId: string, by: { decider: Decider; reason: string }): Promise<Reopening>
  issueStanding(order: StandingOrder): Promise<StandingIssued>
  revokeStanding(grant: string, by: string): Promise<void>
  /** Does what is due now, of approvals and idle sessions; timers do the same when the nearest deadline passes. */
  expireDue(): Promise<void>
  /** Resolves when each session that is closed so far has its audit record. */
  sessionsAudited(): Promise<void>
  /** How the mount sends calls of tools that say `on_approval: dispatch`; runs those already approved. */
  dispatchApproved(dispatchOf: BackgroundDispatch): Promise<void>
  /** Ends open permits as cut, stops the timer, and waits for what it began. */
  stop(): Promise<void>
  /** A person has seen that a call was blocked, and closes its item. */
  closeBlocked(capsuleId: string, by: ClosedBy): Promise<Closed>
  /** States what became of an action that was sent. */
  recordOutcome(report: OutcomeReport): Promise<OutcomeRecorded>
  /** The result of a call that its server had taken on, read later. */
  recordTaskResult(result: TaskResult): Promise<OutcomeRecorded>
  /** A request on a route that is recorded and not judged. */
  recordPassThrough(passed: PassedThrough): Promise<{ actionId: string; capsuleId: string }>
  /** Connections that were closed unread; the record has only a digest of their source. */
  recordDropped(dropped: Dropped): Promise<void>
  /** Every description of its tools that a server gives, before an agent gets it or calls by it. */
  readonly pinTools: PinTools
  /** An operator accepts a description that was seen; effective like a halt. */
  acceptTool(acceptance: Acceptance): Promise<Accepted>
  /** A server asks something of an agent's client. */
  readonly recordServerAsk: RecordAsk
  /** A server broke the protocol: counted, and told once per window. */
  readonly recordServerFault: RecordFault
  /** Destroys a key of the evidence store, for good. */
  erase(scope: ErasureScope, by: string): Promise<{ readonly records: number }>
  /** For the operator: what the record may not contain. */
  report(event: GateReport): void
  /** What calls under way may keep in memory, for all mounts of the gate together. */
  readonly memory: Memory
  /** Leave to act that runtimes hold; `decide` of gate/permit gives it. */
  readonly permits: Permits
  readonly read: Read
}

export type Boot = {
  readonly parts: Omit<Parts, 'world' | 'halts'>
  readonly judges: Judges
  readonly memory?: MemoryLimits
  readonly halts: Halts
  readonly orphans: readonly Orphan[]
  readonly unasked: readonly Unasked[]
  /** The last recorded set of judges, so that an unchanged start journals no change. */
  readonly recorded: MembersOf<'CONFIG_CHANGED'> | null
  /** What the evidence store is compared with once the gate runs. */
  readonly backlog: Backlog
}

/** Orphans are concluded and the canary is denied before this resolves: only then may anything listen. */
export async function startGate(boot: Boot): Promise<{ gate: Gate; parts: Parts }> {
  let world: World = { ...boot.judges, generation: 1 }
  let halts = boot.halts
  const parts: Parts = { ...boot.parts, world: () => world, halts: () => halts }
  const raiseGeneration = (next: Judges = world): void => {
    world = { ...next, generation: world.generation + 1 }
  }

  await recover(boot.orphans, parts)
  await recoverItems(boot.unasked, parts)
  if (JSON.stringify(describe(world)) !== JSON.stringify(boot.recorded)) {
    await recordChange(world, parts)
  }
  await prove(parts, parts.keys())
  const expiry = startExpiry(parts)
  const idle = startIdle(parts)
  const runDue = async (): Promise<void> => {
    await expiry.run()
    await idle.run()
  }
  await runDue()
  const background = createBackground(parts)
  const watch = watchEvidence(parts, boot.backlog)
  const auditor = auditSessions(parts, boot.backlog)
  const faults = createFaults(parts)
  const permits = createPermits(parts)
  const limit = limitUngated(parts)

  const gate: Gate = {
    read: createRead(parts, watch),
    report: parts.report,
    memory: createMemory(boot.memory ?? DEFAULT_MEMORY),
    permits,
    identify: (caller) => identify(caller, parts),
    governs: (method, target) => upstreamOf(world.router, method, target) !== null,
    govern: (call, dispatch, identified) => govern(call, dispatch, parts, identified),
    collect: (call, agent, action) => collect(call, agent, action, parts),
    takeReport: (actionId, agent, report) =>
      takeReport(actionId, agent, report, parts, { permits, limit }),
    async resolve(decision) {
      const resolution = await resolve(decision, parts)
      if (resolution.kind === 'recorded' && !resolution.repeated) {
        background.start(decision.approvalId)
      }
      return resolution
    },
    withdraw: (approvalId, agent) => withdraw(approvalId, agent, parts),
    reopen: (approvalId, by) => reopen(approvalId, by, parts),
    issueStanding: (order) => issueStanding(order, parts),
    async revokeStanding(grant, by) {
      await revokeStanding(grant, by, parts)
      raiseGeneration()
    },
    expireDue: runDue,
    sessionsAudited: auditor.settled,
    dispatchApproved: background.register,
    async stop() {
      await permits.stop()
      await limit.stop()
      await watch.stop()
      await idle.stop()
      await auditor.stop()
      await expiry.stop()
      await background.idle()
      await faults.stop()
    },
    closeBlocked: (capsuleId, by) => closeBlocked(capsuleId, by, parts),
    recordOutcome: (report) => recordOutcome(report, parts),
    recordTaskResult: (result) => recordTaskResult(result, parts),
    recordPassThrough: (passed) => recordPassThrough(passed, parts),
    recordDropped: (dropped) => recordDropped(dropped, parts),
    pinTools: createPinning(parts, {
      changed: raiseGeneration,
      unsettled: (server) => faults.record(server, 'tools_unsettled'),
    }),
    async acceptTool(acceptance) {
      const accepted = await acceptTool(acceptance, parts)
      if (accepted === 'accepted') raiseGeneration()
      return accepted
    },
    recordServerAsk: createAsks(parts, (server) => faults.record(server, 'asks_too_often')),
    recordServerFault: faults.record,
    erase: (scope, by) => eraseEvidence(scope, by, parts),
    async halt(scope, by) {
      await recordHalt('HALT', scope, by, parts)
      halts = [...halts.filter((held) => !sameScope(held, scope)), scope]
      raiseGeneration()
    },
    async resume(scope, by) {
      await recordHalt('RESUME', scope, by, parts)
      halts = halts.filter((held) => !sameScope(held, scope))
      raiseGeneration()
      // What became due during the halt is due now.
      await runDue()
    },
    openSession: (order) => openSession(order, parts),
    async closeSession(sessionId, by) {
      const closing = await closeSession(sessionId, by, parts)
      if (closing === 'closed') await expiry.run()
      return closing
    },
    revokeMandate: (mandateId, by) => revokeMandate(mandateId, by, parts),
    setMission: (missionRef, phase, by) => setMission(missionRef, phase, by, parts),
    setObject: (soId, state, by) => setObject(soId, state, by, parts),
    async change(next) {
      await recordChange(next, parts)
      raiseGeneration(next)
    },
  }
  return { gate, parts }
}

/** What CONFIG_CHANGED says, and what an unchanged start compares. */
export function describe(judges: Judges): MembersOf<'CONFIG_CHANGED'> {
  return {
    policy_digest: judges.policy.digest,
    manifest_digests: judges.manifests.map(({ digest }) => digest).sort(),
    mode: judges.mode,
  }
}

async function recordChange(judges: Judges, parts: Parts): Promise<void> {
  await parts.journal.append([signed('CONFIG_CHANGED', describe(judges), parts)])
}
