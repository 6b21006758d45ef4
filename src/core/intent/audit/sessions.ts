import type { Hashing } from '../../crypto/crypto.js'
import { isHeadType } from '../../journal/vocabulary.js'
import { type Folded, foldSession } from './fold.js'
import type { AuditLine, CapsuleSeen, Place, SessionAudit } from './model.js'

/** A session whose record is made: nothing later changes it. */
export type Ended = {
  readonly audit: SessionAudit
  /** The line that opened it was there; otherwise the record is of a part. */
  readonly whole: boolean
}
type EventLine = Exclude<AuditLine, CapsuleSeen>
/** What an id belongs to. */
type Owner = { readonly sessionId: string; readonly eventId: string | null }
type Live = {
  readonly fold: Folded
  /** Names of ids that belong to it. */
  readonly owned: Set<string>
  /** Actions on their way. */
  readonly sent: Set<string>
}

export type SessionAudits = ReturnType<typeof createSessionAudits>

/**
 * The records of all sessions, from the journal's lines in their order. A session ends with the line that closes it
 * or, where calls of it were on their way, with the last line of those, so that everybody who reads the same lines
 * ends it at the same one. Of an ended session nothing is kept. `own` copies a text that would keep its whole line
 * in memory.
 */
export function createSessionAudits(crypto: Hashing, own = (text: string): string => text) {
  const live = new Map<string, Live>()
  const owners = new Map<string, Owner>()
  /** Kept only where the first lines are not here: there a session may begin without the line that opens it. */
  const ended = new Set<string>()
  let fromStart: boolean | null = null
  /** The last capsule, where no session is known to have it. */
  let stray: CapsuleSeen | null = null
  /** The call whose capsule stands directly before the lines on its transition. */
  let concluding: (Owner & { readonly actionId: string }) | null = null

  function begin(sessionId: string, line: Place): Live {
    const id = own(sessionId)
    const fold = foldSession(id, line, crypto, own)
    const begun = { fold, owned: new Set<string>(), sent: new Set<string>() }
    live.set(id, begun)
    return begun
  }

  function owns({ fold, owned }: Live, name: string, eventId: string | null = null): void {
    const key = own(name)
    owners.set(key, { sessionId: fold.sessionId, eventId })
    owned.add(key)
  }

  function endOf(session: Live | undefined): readonly Ended[] {
    if (session === undefined || session.sent.size > 0 || !session.fold.isClosed()) return []
    const { fold, owned } = session
    live.delete(fold.sessionId)
    for (const name of owned) owners.delete(name)
    if (fromStart === false) ended.add(fold.sessionId)
    return [{ audit: fold.audit(), whole: fold.isWhole() }]
  }

  /** The lines on a transition stand in one append with its capsule: any other line ends them. */
  function settle(): readonly Ended[] {
    if (concluding === null) return []
    const { sessionId, actionId } = concluding
    concluding = null
    const session = live.get(sessionId)
    session?.sent.delete(actionId)
    return endOf(session)
  }

  function concluded(capsule: CapsuleSeen): readonly Ended[] {
    const { actionId, decisionId, intentRef, transits } = capsule
    const action = `action ${actionId}`
    const call = owners.get(action)
    const owner =
      call ?? owners.get(`approval ${decisionId}`) ?? owners.get(`declaration ${intentRef}`)
    const session = owner === undefined ? undefined : live.get(owner.sessionId)
    stray = session === undefined ? capsule : null
    if (session === undefined) return []
    session.fold.touch(capsule)
    session.fold.concluded(capsule, call?.eventId ?? intentRef)
    owners.delete(action)
    session.owned.delete(action)
    if (call !== undefined && transits && session.sent.has(actionId)) {
      concluding = { ...call, actionId: own(actionId) }
      return []
    }
    session.sent.delete(actionId)
    return endOf(session)
  }

  /** The capsule that stands before a line in its append, where only that line says whose it is. */
  function adopt(session: Live, isIt: (capsule: CapsuleSeen) => boolean): void {
    if (stray === null || !isIt(stray)) return
    session.fold.concluded(stray, stray.intentRef)
    stray = null
  }

  function sessionOf(line: EventLine): string | undefined {
    switch (line.type) {
      case 'ACTION_DISPATCHED':
        return line.intent?.session_id
      case 'APPROVAL_VOTED':
        return owners.get(`approval ${line.approval_id}`)?.sessionId
      case 'SESSION_AUDITED':
        return undefined
      default:
        return 'session_id' in line ? line.session_id : undefined
    }
  }

  function at(line: EventLine): Live | undefined {
    const id = sessionOf(line)
    if (id === undefined) return undefined
    const known = live.get(id)
    if (known !== undefined) return known
    const begins =
      line.type === 'SESSION_OPENED' ||
      (line.type === 'IDP_SUBMITTED' && fromStart === false && !ended.has(id))
    return begins ? begin(id, line) : undefined
  }

  function follow(line: EventLine): readonly Ended[] {
    const session = at(line)
    if (session === undefined) return []
    const { fold } = session
    fold.touch(line)
    switch (line.type) {
      case 'SESSION_OPENED':
        fold.opened(line)
        break
      case 'SESSION_CLOSED':
        if (line.reason === 'nobody_to_ask') {
          adopt(session, ({ verdict }) => verdict === 'needs_decision')
        }
        fold.closed(line)
        return endOf(session)
      case 'SESSION_RESUMED':
        fold.resumed(line)
        break
      case 'MANDATE_PRESENTED':
        fold.presented(line)
        break
      case 'IDP_SUBMITTED':
        fold.submitted(line)
        owns(session, `action ${line.action_id}`, own(line.event_id))
        if (fold.lists(line.event_id)) owns(session, `declaration ${line.event_id}`)
        break
      case 'ACTION_DISPATCHED':
        session.sent.add(own(line.action_id))
        owns(session, `action ${line.action_id}`, own(line.intent?.event_id ?? ''))
        break
      case 'APPROVAL_OPENED':
        fold.asked(line)
        adopt(session, ({ capsuleId }) => capsuleId === line.capsule_id)
        owns(session, `approval ${line.approval_id}`)
        break
      case 'APPROVAL_VOTED':
        fold.voted(line)
        break
      case 'IDP_MISSION_REF_MISMATCH_REJECTED':
        fold.mismatched()
        adopt(session, ({ actionId }) => actionId === line.action_id)
        break
      case 'CEDAR_DENY_RECORDED':
        fold.denied()
        break
      case 'STATE_TRANSITIONED':
        fold.transitioned(line)
        break
      case 'IDP_COMMITMENT_VERIFIED':
      case 'IDP_COMMITMENT_GAP':
        fold.verified(line.record, concluding?.eventId ?? null, line.at)
        return settle()
    }
    return []
  }

  return {
    /** The sessions that end with this line, or ended with the line before it. */
    add(line: AuditLine): readonly Ended[] {
      fromStart ??= line.seq <= 1
      if (isHeadType(line.type)) return []
      const before = OF_TRANSITION.has(line.type) ? [] : settle()
      return [...before, ...(line.type === 'CAPSULE' ? concluded(line) : follow(line))]
    },
    /** As far as its lines go; null where it is not open. */
    open: (sessionId: string): SessionAudit | null => live.get(sessionId)?.fold.audit() ?? null,
  }
}

const OF_TRANSITION: ReadonlySet<string> = new Set([
  'STATE_TRANSITIONED',
  'ACTION_RESULT_RECORDED',
  'IDP_COMMITMENT_VERIFIED',
  'IDP_COMMITMENT_GAP',
])
