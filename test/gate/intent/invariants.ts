import { expect } from '@jest/globals'
import type { Line, LineOf } from '../../../src/core/journal/vocabulary.js'

/** What holds of every journal with declared calls, read from its lines alone. */
export function expectHistory(
  lines: readonly Line[],
  {
    altered,
    arrived,
  }: { readonly altered: ReadonlySet<string>; readonly arrived: ReadonlySet<string> },
): void {
  const faults: string[] = []
  const submitted = new Map<string, LineOf<'IDP_SUBMITTED'>>()
  const ids = new Set<string>()
  const lastStep = new Map<string, number>()
  const transitions = new Map<string, number>()
  const opened = new Set<string>()
  const holds = createHolds()
  /** Dispatch lines that may be there only if nothing was sent. */
  const notSent = new Map<string, string>()
  const gaps = new Set<string>()
  const concluded = new Map<string, number>()
  const conclude = (action: string): void =>
    void concluded.set(action, (concluded.get(action) ?? 0) + 1)

  for (const line of lines) {
    holds.fold(line)
    switch (line.type) {
      case 'SESSION_OPENED':
        if (opened.has(line.session_id)) faults.push(`${line.seq}: the session is open already`)
        opened.add(line.session_id)
        break
      case 'IDP_SUBMITTED': {
        const id = `${line.so_id} ${line.idp_id}`
        if (ids.has(id)) faults.push(`${line.seq}: the id was committed before`)
        ids.add(id)
        if (line.step_sequence <= (lastStep.get(line.session_id) ?? 0))
          faults.push(`${line.seq}: step ${line.step_sequence} is not above the last`)
        lastStep.set(line.session_id, line.step_sequence)
        if (!opened.has(line.session_id)) faults.push(`${line.seq}: its session was never opened`)
        submitted.set(line.event_id, line)
        break
      }
      case 'ACTION_DISPATCHED': {
        if (line.intent === undefined) {
          faults.push(`${line.seq}: dispatched without a declaration`)
          break
        }
        const declared = submitted.get(line.intent.event_id)
        if (declared?.session_id !== line.intent.session_id)
          faults.push(`${line.seq}: dispatched before its declaration`)
        const why = holds.of(line.intent.session_id)
        if (why !== null) notSent.set(line.action_id, `${line.seq}: dispatched while ${why}`)
        break
      }
      case 'STATE_TRANSITIONED': {
        const isDeclared = [...submitted.values()].some(
          ({ session_id, step_sequence, idp_id }) =>
            session_id === line.session_id &&
            step_sequence === line.step_sequence &&
            idp_id === line.idp_id,
        )
        if (!isDeclared) faults.push(`${line.seq}: a transition that nobody declared`)
        transitions.set(line.event_id, 0)
        break
      }
      case 'ACTION_RESULT_RECORDED':
        transitions.set(line.event_id, 0)
        break
      case 'IDP_COMMITMENT_GAP':
      case 'IDP_COMMITMENT_VERIFIED': {
        const { state_transition_id: of } = line.record
        if (!transitions.has(of)) faults.push(`${line.seq}: verifies no transition`)
        transitions.set(of, (transitions.get(of) ?? 0) + 1)
        if (line.type === 'IDP_COMMITMENT_GAP') gaps.add(line.action_id)
        break
      }
      case 'CAPSULE': {
        const { action_id } = line.capsule
        const ref = line.capsule['dev.capsulegate.intent_ref']
        if (ref !== undefined && !submitted.has(ref))
          faults.push(`${line.seq}: refers to no declaration before it`)
        const isRefTo = ref === undefined ? undefined : submitted.get(ref)?.action_id === action_id
        if (isRefTo === true) conclude(action_id)
        if (
          notSent.has(action_id) &&
          line.settles?.outcome === 'release' &&
          !arrived.has(action_id)
        )
          notSent.delete(action_id)
        break
      }
      case 'APPROVAL_JOINED':
      case 'REPLAYED':
      case 'REFUSAL_REPEATED':
        conclude(line.by)
        break
      default:
    }
  }
  for (const { action_id, seq } of submitted.values()) {
    const times = concluded.get(action_id) ?? 0
    if (times !== 1) faults.push(`${seq}: the declaration is concluded ${times} times`)
  }
  for (const [event, times] of transitions)
    if (times !== 1) faults.push(`${event} has ${times} commitment records`)
  faults.push(...notSent.values())
  for (const action of arrived)
    if (altered.has(action) !== gaps.has(action))
      faults.push(`${action}: altered ${altered.has(action)}, gap ${gaps.has(action)}`)
  for (const action of gaps) if (!altered.has(action)) faults.push(`${action}: a gap of nothing`)
  expect(faults).toEqual([])
}

/** Why a session sends nothing at this line; kept apart from the gate's own fold. */
function createHolds() {
  const closed = new Set<string>()
  const requests = new Map<string, { session: string; holds: 'session' | 'call'; open: boolean }>()
  return {
    fold(line: Line): void {
      switch (line.type) {
        case 'APPROVAL_OPENED':
          if (line.session_id !== undefined && line.holds !== undefined) {
            const { session_id: session, holds } = line
            requests.set(line.approval_id, { session, holds, open: true })
          }
          break
        case 'GRANT_ISSUED':
          if (line.standing !== true && line.approval_id !== undefined)
            end(line.approval_id, 'call')
          break
        case 'SESSION_RESUMED':
          end(line.approval_id, 'session')
          break
        case 'SESSION_CLOSED':
          closed.add(line.session_id)
          break
        case 'CAPSULE': {
          const { disposition } = line.capsule
          const decision = line.capsule['dev.capsulegate.decision_id'] ?? ''
          const isOpen = ['hitl_dispatched', 'deferred', 'escalated'].includes(
            disposition.verdict_class,
          )
          if (!isOpen && line.capsule.chain !== undefined) end(decision, 'call')
          break
        }
        default:
      }
    },
    of(session: string): string | null {
      if (closed.has(session)) return 'its session is over'
      const held = [...requests].find(([, each]) => each.session === session && each.open)
      return held === undefined ? null : `its session waits for ${held[0]}`
    },
  }
  function end(id: string, holds: 'session' | 'call'): void {
    const request = requests.get(id)
    if (request?.holds === holds) request.open = false
  }
}
