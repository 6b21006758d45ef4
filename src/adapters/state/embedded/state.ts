import { isHex64 } from '../../../core/bytes/hex.js'
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
import type {
  BudgetReading,
  Conflict,
  KeyState,
  Reservation,
  ReserveRequest,
  State,
} from '../../../ports/state.js'
import { createApprovals } from './approvals.js'
import { createClaims } from './claims.js'
import { conclusionOf } from './conclusion.js'
import { type Dump, type Orphan, readDump } from './dump.js'
import { createGrants } from './grants.js'
import { createHalts } from './halts.js'
import { createKeys, keyScope } from './keys.js'
import { createOpenItems } from './open-items.js'
import { boundsOf, takenBy, type Unsealing, unopened } from './sealed.js'
import { createWindows, type Held } from './windows.js'

export type EmbeddedState = State & {
  /** Folds one durable line, its own gate's included. Lines MUST come in journal order, each once. */
  apply(line: Line): void
  /** All that the lines so far established, and nothing that is only reserved; equal folds dump equally. */
  dump(): Plain
  /** Replaces everything by what a dump established; else says why it is none, and changes nothing. */
  load(dump: Plain): string | null
  orphans(): readonly Orphan[]
  /** Open items that ask a human without an event that says whom: only a lost power supply leaves them. */
  unasked(): readonly OpenItem[]
  halts(): readonly HaltScope[]
  config(): MembersOf<'CONFIG_CHANGED'> | null
}

/** Claims of one action; `scope` is its idempotency key's. */
type Claims = { readonly scope: string | null; readonly grant: string | null; budgets: Held[] }
type Hold = Claims & {
  readonly requestDigest: string
  readonly claims: ReserveRequest['budgets']
}
/** `orphan` is asked for by a dump and after a restart: no call waits for the copy it makes. */
type InFlight = Claims & { readonly requestDigest: string; readonly orphan: () => Orphan }

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * State as a fold over the journal (DESIGN §5): in memory, durable because the lines carry it. A
 * reservation lives here alone until its ACTION_DISPATCHED line is applied; a crash before that
 * forgets it, and rightly, since nothing was sent. From then on only the CAPSULE line settles it.
 */
export function createEmbeddedState(options: {
  tenant: Unsealing
  keyTtlSeconds?: number
  keysPerAgent?: number
}): EmbeddedState {
  const { tenant } = options
  const keepMs = options.keyTtlSeconds === undefined ? DAY_MS : options.keyTtlSeconds * 1000
  const keys = createKeys(keepMs, options.keysPerAgent ?? Number.POSITIVE_INFINITY)
  const grants = createGrants(keepMs)
  const windows = createWindows()
  const items = createOpenItems()
  const approvals = createApprovals(keepMs)
  const claims = createClaims()
  const halts = createHalts()
  const holds = new Map<string, Hold>()
  const actions = new Map<string, InFlight>()
  let config: MembersOf<'CONFIG_CHANGED'> | null = null
  /** Time of the newest line: the fold's own clock. */
  let foldedTo = 0
  /** Newest time anybody showed; a reader's clock that goes back does not bring back what expired. */
  let latest = 0

  function reserve(request: ReserveRequest): Reservation | Conflict {
    const { actionId, requestDigest, grant } = request
    if (holds.has(actionId) || actions.has(actionId)) {
      throw new TypeError(`action ${actionId} is reserved already`)
    }
    if (request.key !== null && !isHex64(request.key)) {
      // Lines carry the key's digest only; a claim under anything else could never be found again.
      throw new TypeError('an idempotency key is claimed by its hex SHA-256')
    }
    latest = Math.max(latest, request.at)
    const scope =
      request.key === null ? null : keyScope(request.operator, request.agent, request.key)
    const holder = scope === null ? null : keys.holder(scope, latest)
    if (holder !== null) return { kind: 'key', holder }
    if (scope !== null && keys.isFull(scope, latest)) return { kind: 'keys_exhausted' }
    const why = grant === null ? null : grants.refusal(grant, request)
    if (why !== null) return { kind: 'grant', why }
    const { item } = request
    const approval = item === null ? null : approvals.get(item.approvalId)
    const current = approval?.state.kind !== 'closed' && approval?.parent === item?.parent
    if (item !== null && !(current && claims.isFree(item.parent))) return { kind: 'item' }

    const budgets: Held[] = []
    const readings: BudgetReading[] = []
    let refused = false
    try {
      for (const claim of request.budgets) {
        const { reading, held } = windows.take(claim, latest, actionId)
        budgets.push(held)
        readings.push(reading)
        if (!reading.within && !claim.advisory) refused = true
      }
    } catch (error) {
      giveBack(budgets)
      throw error
    }
    if (refused) {
      giveBack(budgets)
      return { kind: 'budget', readings }
    }
    if (scope !== null) keys.hold(scope, { state: 'in_flight', actionId, requestDigest })
    if (grant !== null) grants.hold(grant)
    if (item !== null) claims.take(item.parent, actionId)
    holds.set(actionId, { scope, grant, budgets, requestDigest, claims: request.budgets })
    return { kind: 'reserved', actionId, readings }
  }

  /** Lets go of what was only reserved. */
  function unhold(actionId: string, hold: Claims): void {
    holds.delete(actionId)
    giveBack(hold.budgets)
    if (hold.scope !== null) keys.unhold(hold.scope, actionId)
    if (hold.grant !== null) grants.unhold(hold.grant)
  }

  function dispatched(line: LineOf<'ACTION_DISPATCHED'>, at: number): void {
    const { action_id: actionId } = line
    if (actions.has(actionId)) throw lineError(line, `action ${actionId} was dispatched before`)
    const held = holds.get(actionId)
    // The running gate sealed what it had reserved: opening its own line again would cost each call as much
    // as sealing it. Read before anything changes, so that no line is folded by half.
    const taken =
      held !== undefined && line.amounts !== undefined ? held.claims : takenBy(line, tenant)
    if (held !== undefined) unhold(actionId, held)
    const claims = adopt(line, () => ({ ...withoutEnvelope(line), at: line.at, seq: line.seq }))
    for (const budget of taken) claims.budgets.push(windows.fold(budget, at, actionId))
    if (claims.grant !== null) grants.spend(claims.grant)
  }

  /** Puts an action in flight, without its budgets and grant, which a dump carries by themselves. */
  function adopt(action: MembersOf<'ACTION_DISPATCHED'>, orphan: () => Orphan): InFlight {
    const { action_id: actionId, request_digest: requestDigest, key } = action
    const scope = key === undefined ? null : keyScope(action.operator, action.agent, key)
    if (scope !== null) keys.dispatch(scope, { state: 'in_flight', actionId, requestDigest })
    const inFlight = { requestDigest, orphan, scope, grant: action.grant ?? null, budgets: [] }
    actions.set(actionId, inFlight)
    return inFlight
  }

  function concluded(line: LineOf<'CAPSULE'>, at: number): void {
    const { capsule } = line
    items.fold(capsule, line.seq)
    const ended = approvals.moved(capsule)
    if (ended !== null) grants.revoke(ended)
    const { actionId, kind } = conclusionOf(line)
    const action = actions.get(actionId)
    if (action === undefined) return
    actions.delete(actionId)
    const { scope, grant, budgets } = action
    if (kind === 'release') {
      giveBack(budgets)
      if (scope !== null) keys.release(scope, actionId)
      if (grant !== null) grants.giveBack(grant)
      return
    }
    for (const { entry } of budgets) entry.action = null
    if (scope === null) return
    const { requestDigest } = action
    const state: KeyState =
      kind === 'completed'
        ? { state: 'completed', actionId, capsuleId: capsule.capsule_id, requestDigest }
        : { state: 'unknown', actionId, requestDigest }
    keys.conclude(scope, state, at)
  }

  const orphans = (): Orphan[] => [...actions.values()].map(({ orphan }) => orphan())

  return {
    reserve: async (request) => reserve(request),
    async settle(actionId, outcome) {
      claims.letGo(actionId)
      const hold = holds.get(actionId)
      // Dispatched by a line: its CAPSULE line settles it, so that a fold comes to the same.
      if (hold === undefined) return
      if (outcome.kind === 'release') return unhold(actionId, hold)
      holds.delete(actionId)
      if (hold.scope === null) return
      const { requestDigest } = hold
      keys.hold(
        hold.scope,
        outcome.replayable
          ? { state: 'completed', actionId, capsuleId: outcome.capsuleId, requestDigest }
          : { state: 'unknown', actionId, requestDigest },
      )
    },
    keyState: async (operator, agent, key) => keys.holder(keyScope(operator, agent, key), latest),
    claim: async (name, by) => claims.take(name, by),
    claimOpening: async (agent, by, most) => approvals.mayOpen(agent, by, most),
    async unclaim(by) {
      claims.letGo(by)
      approvals.opensNot(by)
    },
    approval: async (id) => approvals.get(id),
    approvalFor: async (agent, requestDigest) => approvals.forRequest(agent, requestDigest),
    openApprovals: async (agent) => approvals.openOf(agent),
    approvals: async () => approvals.live(),
    refusal: async (agent, identity, at) =>
      approvals.refusalOf(agent, identity, Math.max(at, latest)),
    standing: async (agent, tool, at) => grants.standing(agent, tool, Math.max(at, latest)),
    endedApprovals: async () => approvals.over(),
    standingGrants: async (at) => grants.allStanding(Math.max(at, latest)),
    isStanding: async (grant) => grants.find(grant)?.standing === true,
    awaiting: async () => items.awaiting(),
    blocked: async () => ({ items: items.blocked(), older: items.older() }),
    olderBlocked: async () => items.older(),
    openItem: async (capsuleId) => items.get(capsuleId),
    apply(line) {
      const at = Date.parse(line.at)
      if (Number.isNaN(at)) throw lineError(line, 'at is no time')
      switch (line.type) {
        case 'ACTION_DISPATCHED':
          dispatched(line, at)
          break
        case 'CAPSULE':
          concluded(line, at)
          break
        case 'HALT':
          halts.halt(line.scope)
          break
        case 'RESUME':
          halts.resume(line.scope)
          break
        case 'CONFIG_CHANGED':
          config = withoutEnvelope(line)
          break
        case 'GRANT_ISSUED':
          if (line.standing === true) {
            const bounds = boundsOf(line, tenant)
            if (bounds === null) throw unopened(line)
            grants.issue(withoutEnvelope(line), bounds)
          } else {
            grants.issue(withoutEnvelope(line), null)
            if (line.approval_id !== undefined) approvals.granted(line.approval_id, line.grant)
          }
          break
        case 'GRANT_REVOKED':
          grants.revoke(line.grant)
          break
        case 'APPROVAL_OPENED':
          approvals.opened(line)
          break
        case 'APPROVAL_VOTED':
          approvals.voted(line)
          break
        case 'REFUSAL_LIFTED':
          approvals.lifted(line)
          break
        case 'APPROVAL_REMINDER':
          approvals.reminded(line)
          break
      }
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
        actions: orphans(),
        keys: keys.dump(foldedTo),
        windows: windows.dump(foldedTo),
        grants: grants.dump(foldedTo),
        items: items.all(),
        older_blocked: items.older(),
        approvals: approvals.dump(foldedTo),
        halts: halts.list(),
        config,
      }
      return dump
    },
    load(plain) {
      const got = readDump(plain)
      if (!got.ok) return got.fault
      const dump = got.value
      const bounds = dump.grants.map(([line]) => line.standing === true && boundsOf(line, tenant))
      if (bounds.includes(null)) return 'bounds of a standing grant do not open'
      holds.clear()
      actions.clear()
      keys.load(dump.keys)
      for (const action of dump.actions) adopt(action, () => action)
      windows.load(dump.windows, (action, held) => actions.get(action)?.budgets.push(held))
      grants.load(dump.grants, (line) => boundsOf(line, tenant))
      items.load(dump.items, dump.older_blocked ?? null)
      approvals.load(dump.approvals)
      claims.clear()
      halts.load(dump.halts)
      config = dump.config
      foldedTo = dump.at
      latest = dump.at
      return null
    },
    orphans,
    unasked: () =>
      items
        .awaiting()
        .filter(
          ({ verdict_class, decision_id }) =>
            verdict_class === 'hitl_dispatched' && approvals.get(decision_id) === null,
        ),
    halts: halts.list,
    config: () => config,
  }
}

function giveBack(budgets: readonly Held[]): void {
  for (const held of budgets) held.in.remove(held.entry)
}

/** A dump holds the members as the line had them, its signature included. */
function withoutEnvelope<L extends Line>(line: L): Members<L> {
  const { v, origin, seq, prev, at, type, ...members } = line
  return members as Members<L>
}
/** Of each form that a line of its type has. */
type Members<L> = L extends Line ? Omit<L, keyof Envelope | 'type'> : never
