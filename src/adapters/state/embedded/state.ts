import type { OpenItem } from '../../../core/capsule/open-item.js'
import type { HaltScope } from '../../../core/journal/lines/operate.js'
import {
  type Envelope,
  type Line,
  type LineOf,
  lineError,
  type MembersOf,
} from '../../../core/journal/vocabulary.js'
import type { Plain } from '../../../core/json/value.js'
import type { State } from '../../../ports/state.js'
import { createActions } from './actions.js'
import { createApprovals } from './approvals.js'
import { createClaims } from './claims.js'
import { type Dump, type Orphan, readDump } from './dump.js'
import { boundsOf, type DecryptionKeys, WRONG_KEY } from './encrypted.js'
import { createGoverned } from './governed.js'
import { createGrants } from './grants.js'
import { createKeys, keyScope } from './keys.js'
import { sortedValues } from './maps.js'
import { createOpenItems } from './open-items.js'
import { createPins } from './pins.js'
import { createSessions } from './sessions/sessions.js'
import { createWindows } from './windows.js'

export type EmbeddedState = State & {
  /** Folds one durable line, its own gate's included. Lines MUST come in journal order, each once. */
  apply(line: Line): void
  /** All that the lines so far established, and nothing that is only reserved; equal folds dump equally. */
  dump(): Plain
  /** Replaces everything by what a dump established; returns why it is none, and then changes nothing. */
  load(dump: Plain): string | null
  orphans(): readonly Orphan[]
  /** Open items for a human that have no APPROVAL_OPENED event: a power loss can leave them. */
  unasked(): readonly OpenItem[]
  halts(): readonly HaltScope[]
  config(): MembersOf<'CONFIG_CHANGED'> | null
}

/** What a line of each type does to the state; null where it does nothing, so that a new type is not forgotten. */
type Folds = { readonly [T in Line['type']]: ((line: LineOf<T>, at: number) => void) | null }

const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

const haltKey = (scope: HaltScope): string =>
  scope.kind === 'all' ? 'all' : `${scope.kind} ${scope.name}`

/**
 * State as a fold over the journal (DESIGN §5): in memory, durable because the lines carry it. A
 * reservation is here alone until its ACTION_DISPATCHED line is applied; a crash before that
 * forgets it, and rightly, since nothing was sent. From then on only the CAPSULE line settles it.
 */
export function createEmbeddedState(options: {
  tenant: DecryptionKeys
  keyTtlSeconds?: number
  keysPerAgent?: number
  /** A session that is not used for so long is over. */
  sessionIdleSeconds?: number
}): EmbeddedState {
  const { tenant } = options
  const keepMs = options.keyTtlSeconds === undefined ? DAY_MS : options.keyTtlSeconds * 1000
  const keys = createKeys(keepMs, options.keysPerAgent ?? Number.POSITIVE_INFINITY)
  const grants = createGrants(keepMs)
  const windows = createWindows()
  const items = createOpenItems()
  const approvals = createApprovals(keepMs)
  const claims = createClaims()
  const actions = createActions({ tenant, keys, grants, windows, approvals, claims })
  const pins = createPins()
  const governed = createGoverned()
  const idleMs =
    options.sessionIdleSeconds === undefined ? HOUR_MS : options.sessionIdleSeconds * 1000
  const sessions = createSessions({ approvals, governed }, idleMs)
  const halts = new Map<string, HaltScope>()
  let config: MembersOf<'CONFIG_CHANGED'> | null = null
  /** Time of the newest line: the fold's own clock. */
  let foldedTo = 0
  /** The newest time of a line or request; a reader's clock that goes back does not bring back what expired. */
  let latest = 0

  const folds: Folds = {
    ACTION_DISPATCHED(line, at) {
      if (line.intent !== undefined) sessions.used(line.intent.session_id, line.at)
      actions.dispatched(line, at, () => ({
        ...withoutEnvelope(line),
        at: line.at,
        seq: line.seq,
      }))
    },
    CAPSULE(line, at) {
      items.fold(line.capsule, line.seq)
      const moved = approvals.moved(line.capsule)
      if (moved?.state.kind === 'approved') grants.revoke(moved.state.grant)
      if (moved?.sessionId !== undefined) sessions.used(moved.sessionId, line.at)
      actions.concluded(line, at)
    },
    HALT: ({ scope }) => halts.set(haltKey(scope), scope),
    RESUME: ({ scope }) => halts.delete(haltKey(scope)),
    CONFIG_CHANGED(line) {
      config = withoutEnvelope(line)
    },
    GRANT_ISSUED(line) {
      const bounds = line.standing === true ? boundsOf(line, tenant) : null
      if (line.standing === true && bounds === null) {
        throw lineError(line, `sealed_bounds do not open: ${WRONG_KEY}`)
      }
      grants.issue(withoutEnvelope(line), bounds)
      if (line.standing !== true && line.approval_id !== undefined) {
        approvals.granted(line.approval_id, line.grant)
      }
    },
    GRANT_REVOKED: ({ grant }) => grants.revoke(grant),
    APPROVAL_OPENED(line) {
      approvals.opened(line)
      sessions.asked(line)
    },
    APPROVAL_VOTED: approvals.voted,
    APPROVAL_REMINDER: approvals.reminded,
    REFUSAL_LIFTED: approvals.lifted,
    SESSION_OPENED: sessions.opened,
    SESSION_CLOSED: sessions.closed,
    SESSION_AUDITED: null,
    SESSION_RESUMED: sessions.resumed,
    MANDATE_PRESENTED: sessions.presented,
    IDP_SUBMITTED: sessions.submitted,
    IDP_MISSION_REF_MISMATCH_REJECTED: sessions.mismatched,
    IDP_COMMITMENT_GAP: sessions.gap,
    MANDATE_REVOKED: governed.revoked,
    MISSION_SET: governed.missionSet,
    OBJECT_SET: governed.objectSet,
    STATE_TRANSITIONED: governed.transitioned,
    ACTION_RESULT_RECORDED: governed.resulted,
    CEDAR_DENY_RECORDED: null,
    IDP_COMMITMENT_VERIFIED: null,
    TOOLS_PINNED: pins.pinned,
    TOOL_CHANGED: pins.changed,
    TOOL_ACCEPTED: pins.accepted,
    // Answers and decisions that changed nothing, and what the CAPSULE line beside it says already.
    REPLAYED: null,
    APPROVAL_JOINED: null,
    REFUSAL_REPEATED: null,
    DECISION_LOST: null,
    ITEM_CLOSED: null,
    // What other parts of the gate keep, or nothing needs to remember.
    EVIDENCE_ERASING: null,
    EVIDENCE_ERASED: null,
    REFUSALS_DROPPED: null,
    SERVER_ASKED: null,
    SERVER_FAULT: null,
    WEBHOOK_DISABLED: null,
    WEBHOOK_ENABLED: null,
    WEBHOOK_DEAD: null,
    HEAD: null,
    SEGMENT_SEALED: null,
    ADOPTED: null,
  }

  return {
    async reserve(request) {
      latest = Math.max(latest, request.at)
      return actions.reserve(request, latest)
    },
    settle: async (actionId, outcome) => actions.settle(actionId, outcome),
    keyState: async (operator, agent, key) => keys.holder(keyScope(operator, agent, key), latest),
    claim: async (name, by) => claims.take(name, by),
    claimOpening: async (agent, by, most, session) => approvals.mayOpen(agent, by, most, session),
    async unclaim(by) {
      claims.release(by)
      approvals.opensNot(by)
      sessions.abandon(by)
    },
    commitIntent: async (request) => {
      latest = Math.max(latest, request.at)
      return sessions.commit(request)
    },
    countMismatch: async (request) => {
      latest = Math.max(latest, request.at)
      return sessions.mismatch(request)
    },
    releaseIntent: async (actionId) => sessions.release(actionId),
    committed: async (soId, idpId) => sessions.committed(soId, idpId),
    stopSession: async (sessionId) => sessions.stop(sessionId),
    async openSession(sessionId, agent, at) {
      latest = Math.max(latest, at)
      return sessions.open(sessionId, agent, at)
    },
    releaseSession: async (sessionId) => sessions.releaseOpening(sessionId),
    closeIdle: async (sessionId, at) => sessions.closeIdle(sessionId, at),
    idleFrom: async () => sessions.idleFrom(),
    session: async (sessionId) => sessions.get(sessionId),
    sessions: async () => sessions.all(),
    isOver: async (sessionId) => sessions.isOver(sessionId),
    isRevoked: async (mandateId) => governed.isRevoked(mandateId),
    revoked: async () => governed.allRevoked(),
    missions: async () => governed.missions(),
    mission: async (missionRef) => governed.mission(missionRef),
    object: async (soId) => governed.object(soId),
    stillStands: sessions.stillStands,
    sizes: sessions.sizes,
    approval: async (id) => approvals.get(id),
    approvalsFor: async (agent, requestDigest) => approvals.forRequest(agent, requestDigest),
    openApprovals: async (agent) => approvals.openOf(agent),
    approvals: async () => approvals.open(),
    refusal: async (agent, identities, at) =>
      approvals.refusalOf(agent, identities, Math.max(at, latest)),
    standing: async (agent, tool, at) => grants.standing(agent, tool, Math.max(at, latest)),
    pin: async (server, tool) => pins.get(server, tool),
    pins: async () => pins.all(),
    endedApprovals: async () => approvals.ended(),
    standingGrants: async (at) => grants.allStanding(Math.max(at, latest)),
    isStanding: async (grant) => grants.find(grant)?.standing === true,
    awaiting: async () => items.awaiting(),
    blocked: async () => ({ items: items.blocked(), older: items.older() }),
    olderBlocked: async () => items.older(),
    openItem: async (capsuleId) => items.get(capsuleId),
    apply(line) {
      const at = Date.parse(line.at)
      if (Number.isNaN(at)) throw lineError(line, 'at is no time')
      const fold = folds[line.type] as ((line: Line, at: number) => void) | null
      fold?.(line, at)
      foldedTo = Math.max(foldedTo, at)
      latest = Math.max(latest, at)
      keys.prune(foldedTo)
      windows.advance(foldedTo)
      grants.sweep(foldedTo)
      approvals.sweep(foldedTo)
    },
    dump() {
      const dump: Dump = {
        v: 1,
        at: foldedTo,
        actions: actions.orphans(),
        keys: keys.dump(foldedTo),
        windows: windows.dump(foldedTo),
        grants: grants.dump(foldedTo),
        items: items.all(),
        older_blocked: items.older(),
        approvals: approvals.dump(foldedTo),
        halts: sortedValues(halts),
        config,
        pins: pins.all(),
        sessions: sessions.dump(),
        governed: governed.dump(),
      }
      return dump
    },
    load(plain) {
      const got = readDump(plain)
      if (!got.ok) return got.fault
      const dump = got.value
      const bounds = dump.grants.map(([line]) => line.standing === true && boundsOf(line, tenant))
      if (bounds.includes(null)) return 'bounds of a standing grant do not open'
      keys.load(dump.keys)
      actions.load(dump.actions)
      windows.load(dump.windows, actions.own)
      grants.load(dump.grants, (line) => boundsOf(line, tenant))
      items.load(dump.items, dump.older_blocked ?? null)
      approvals.load(dump.approvals)
      claims.clear()
      halts.clear()
      for (const scope of dump.halts) halts.set(haltKey(scope), scope)
      config = dump.config
      pins.load(dump.pins ?? [])
      governed.load(dump.governed ?? { revoked: [], missions: [], objects: [] })
      sessions.load(dump.sessions ?? { open: [], over: [], ids: [] })
      foldedTo = dump.at
      latest = dump.at
      return null
    },
    orphans: actions.orphans,
    unasked: () =>
      items
        .awaiting()
        .filter(
          ({ verdict_class, decision_id }) =>
            verdict_class === 'hitl_dispatched' && approvals.get(decision_id) === null,
        ),
    halts: () => sortedValues(halts),
    config: () => config,
  }
}

/** A dump holds the members as the line had them, its signature included. */
function withoutEnvelope<L extends Line>(line: L): Members<L> {
  const { v, origin, seq, prev, at, type, ...members } = line
  return members as Members<L>
}
/** Of each form that a line of its type has. */
type Members<L> = L extends Line ? Omit<L, keyof Envelope | 'type'> : never
