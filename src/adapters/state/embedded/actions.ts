import { isHex64 } from '../../../core/bytes/hex.js'
import { NEVER_DISPATCH } from '../../../core/capsule/registries.js'
import { type LineOf, lineError, type MembersOf } from '../../../core/journal/vocabulary.js'
import type {
  BudgetReading,
  Conflict,
  KeyState,
  Reservation,
  ReserveRequest,
  Settlement,
} from '../../../ports/state.js'
import type { Approvals } from './approvals.js'
import type { Claims } from './claims.js'
import type { Orphan } from './dump.js'
import { type DecryptionKeys, takenBy } from './encrypted.js'
import type { Grants } from './grants.js'
import { type Keys, keyScope } from './keys.js'
import type { Held, Windows } from './windows.js'

/** What one action holds; `scope` is its idempotency key's. */
type Holding = {
  readonly scope: string | null
  readonly grant: string | null
  readonly budgets: Held[]
  readonly requestDigest: string
}
type Reserved = Holding & { readonly claims: ReserveRequest['budgets'] }
/** `orphan` copies the line's members, so only a dump and a restart ask for it. */
type InFlight = Holding & { readonly orphan: () => Orphan }

type Parts = {
  readonly tenant: DecryptionKeys
  readonly keys: Keys
  readonly grants: Grants
  readonly windows: Windows
  readonly approvals: Approvals
  readonly claims: Claims
}
export type Actions = ReturnType<typeof createActions>

/**
 * Actions that hold keys, grants and budgets: reserved, in this process's memory alone, until their
 * ACTION_DISPATCHED line is folded, and from then on in flight until their CAPSULE line is.
 */
export function createActions({ tenant, keys, grants, windows, approvals, claims }: Parts) {
  const reserved = new Map<string, Reserved>()
  const inFlight = new Map<string, InFlight>()

  function takeBudgets(request: ReserveRequest, time: number) {
    const budgets: Held[] = []
    const readings: BudgetReading[] = []
    let refused = false
    try {
      for (const claim of request.budgets) {
        const { reading, held } = windows.take(claim, time, request.actionId)
        budgets.push(held)
        readings.push(reading)
        if (!reading.within && !claim.advisory) refused = true
      }
    } catch (error) {
      giveBack(budgets)
      throw error
    }
    if (refused) giveBack(budgets)
    return { budgets, readings, refused }
  }

  /** Lets go of what was only reserved. */
  function unreserve(actionId: string, { budgets, scope, grant }: Reserved): void {
    reserved.delete(actionId)
    giveBack(budgets)
    if (scope !== null) keys.unhold(scope, actionId)
    if (grant !== null) grants.unhold(grant)
  }

  /** Puts an action in flight, without its budgets and grant, which a dump carries by themselves. */
  function adopt(action: MembersOf<'ACTION_DISPATCHED'>, orphan: () => Orphan): InFlight {
    const { action_id: actionId, request_digest: requestDigest, key } = action
    const scope = key === undefined ? null : keyScope(action.operator, action.agent, key)
    if (scope !== null) keys.dispatch(scope, { state: 'in_flight', actionId, requestDigest })
    const adopted = { requestDigest, orphan, scope, grant: action.grant ?? null, budgets: [] }
    inFlight.set(actionId, adopted)
    return adopted
  }

  return {
    reserve(request: ReserveRequest, time: number): Reservation | Conflict {
      const { actionId, operator, agent, key, requestDigest, grant, item } = request
      if (reserved.has(actionId) || inFlight.has(actionId)) {
        throw new TypeError(`action ${actionId} is reserved already`)
      }
      if (key !== null && !isHex64(key)) {
        // Lines carry the key's digest only; a claim under anything else could never be found again.
        throw new TypeError('an idempotency key is claimed by its hex SHA-256')
      }
      const scope = key === null ? null : keyScope(operator, agent, key)
      const holder = scope === null ? null : keys.holder(scope, time)
      if (holder !== null) return { kind: 'key', holder }
      if (scope !== null && keys.isFull(scope, time)) return { kind: 'keys_exhausted' }
      const why = grant === null ? null : grants.refusal(grant, request)
      if (why !== null) return { kind: 'grant', why }
      const approval = item === null ? null : approvals.get(item.approvalId)
      const current = approval?.state.kind !== 'closed' && approval?.parent === item?.parent
      if (item !== null && !(current && claims.isFree(item.parent))) return { kind: 'item' }

      const { budgets, readings, refused } = takeBudgets(request, time)
      if (refused) return { kind: 'budget', readings }
      if (scope !== null) keys.hold(scope, { state: 'in_flight', actionId, requestDigest })
      if (grant !== null) grants.hold(grant)
      if (item !== null) claims.take(item.parent, actionId)
      reserved.set(actionId, { scope, grant, budgets, requestDigest, claims: request.budgets })
      return { kind: 'reserved', actionId, readings }
    },

    settle(actionId: string, outcome: Settlement): void {
      claims.release(actionId)
      const holding = reserved.get(actionId)
      // One that a line dispatched is settled by its CAPSULE line, so that a fold gives the same state.
      if (holding === undefined) return
      if (outcome.kind === 'release') {
        unreserve(actionId, holding)
        return
      }
      reserved.delete(actionId)
      const capsuleId = outcome.replayable ? outcome.capsuleId : null
      if (holding.scope !== null) keys.hold(holding.scope, endOf(actionId, holding, capsuleId))
    },

    dispatched(line: LineOf<'ACTION_DISPATCHED'>, at: number, orphan: () => Orphan): void {
      const { action_id: actionId } = line
      if (inFlight.has(actionId)) throw lineError(line, `action ${actionId} was dispatched before`)
      const holding = reserved.get(actionId)
      // The running gate has just encrypted what it had reserved: decrypting its own line would cost each call as
      // much again. Read before anything changes, so that no line is folded in part.
      const taken =
        holding !== undefined && line.amounts !== undefined ? holding.claims : takenBy(line, tenant)
      if (holding !== undefined) unreserve(actionId, holding)
      const { budgets, grant } = adopt(line, orphan)
      for (const budget of taken) budgets.push(windows.fold(budget, at, actionId))
      if (grant !== null) grants.spend(grant)
    },

    concluded(line: LineOf<'CAPSULE'>, at: number): void {
      const actionId = line.settles?.action_id ?? line.capsule.action_id
      const kind = conclusionOf(line)
      const action = inFlight.get(actionId)
      if (action === undefined) return
      inFlight.delete(actionId)
      const { scope, grant, budgets } = action
      if (kind === 'release') {
        giveBack(budgets)
        if (scope !== null) keys.release(scope, actionId)
        if (grant !== null) grants.giveBack(grant)
        return
      }
      for (const { entry } of budgets) entry.action = null
      const capsuleId = kind === 'completed' ? line.capsule.capsule_id : null
      if (scope !== null) keys.conclude(scope, endOf(actionId, action, capsuleId), at)
    },

    orphans: (): Orphan[] => [...inFlight.values()].map(({ orphan }) => orphan()),
    load(actions: readonly Orphan[]): void {
      reserved.clear()
      inFlight.clear()
      for (const action of actions) adopt(action, () => action)
    },
    /** Entries of a loaded window that an action in flight may still give back. */
    own: (actionId: string, held: Held): void => {
      inFlight.get(actionId)?.budgets.push(held)
    },
  }
}

function giveBack(budgets: readonly Held[]): void {
  for (const held of budgets) held.in.remove(held.entry)
}

/** How a key ends: completed under a capsule that can be replayed, else unknown. */
const endOf = (actionId: string, { requestDigest }: Holding, capsuleId: string | null): KeyState =>
  capsuleId === null
    ? { state: 'unknown', actionId, requestDigest }
    : { state: 'completed', actionId, capsuleId, requestDigest }

/**
 * What a CAPSULE line does to what its action holds. An executed action's outcome is known whether or not its
 * response was kept; another that committed is known only if it can be replayed. Without `settles` the capsule
 * itself decides: what was never sent gives everything back, what was sent without an observed end stays unknown
 * (promise 2).
 */
function conclusionOf(line: LineOf<'CAPSULE'>): 'release' | 'completed' | 'unknown' {
  const { capsule, settles } = line
  const { verdict_class: verdict } = capsule.disposition
  const executed = verdict === 'executed'
  if (settles?.outcome === 'release') return 'release'
  if (settles !== undefined) return executed || settles.replayable ? 'completed' : 'unknown'
  if ((NEVER_DISPATCH as readonly string[]).includes(verdict)) return 'release'
  const status = capsule.effect?.status ?? 'planned'
  if (executed || (status !== 'planned' && status !== 'dispatched')) return 'completed'
  return status === 'planned' ? 'release' : 'unknown'
}
