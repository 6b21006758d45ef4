import type { Crypto } from '../../crypto/crypto.js'
import { isLineType, type LineOf } from '../../journal/vocabulary.js'
import type { JsonObject } from '../../json/value.js'
import type { PublicKeyRecord } from '../../statement/keys.js'
import { type Class1Result, clip, type Finding, Findings } from '../finding.js'
import { createActions, type Stopped } from './actions.js'
import { type Beginning, beginningOf } from './before.js'
import { createCommitments } from './commitments.js'
import { createEvents } from './events.js'
import { createGivenHead } from './given-head.js'
import { createHalts } from './halts.js'
import { createHeads, type Head } from './heads.js'
import { createHumans } from './humans.js'
import { detached, type Event, type Link, readConcluded, readEvent } from './line.js'
import { type Before, createLinkage } from './linkage.js'
import { createMissing } from './missing.js'
import { createSeals } from './seals.js'
import { createAudits } from './session-audits.js'
import { createSessions } from './sessions.js'

export type JournalOptions = {
  readonly crypto: Crypto
  readonly keys?: readonly PublicKeyRecord[]
  /** Heads seen elsewhere, as text: JSON objects, one per line. The newest one that verifies counts. */
  readonly head?: string
  /** The seal lines of archived segments, from the first on, exactly as they were written. */
  readonly seals?: readonly string[]
}

/** The answer about a journal as a whole. */
export type JournalResult = {
  /** `incomplete`: nothing was found wrong, but a key, a head, a segment or a conclusion is not here. */
  readonly status: 'valid' | 'invalid' | 'incomplete'
  readonly complete: Complete
  /** Findings that belong to no single line. */
  readonly findings: readonly Finding[]
  /** Decided or concluded here, begun in lines that are not here. */
  readonly begun_before: { readonly actions: number; readonly approvals: number }
  readonly not_checked: readonly string[]
}
export type Complete =
  /** Whole from the first line to this signed head; a later one, seen elsewhere, would show what was cut. */
  ({ readonly ok: true } & Head) | { readonly ok: false; readonly why: readonly string[] }

const VERSION_1 = 'a journal of version 1: no signed head covers it; `capsule-gate journal adopt`'
const NO_KEYS = 'no keyring was given (--keys), so no signature was checked'
/** A capsule whose key the keyring does not hold: it may be a newer one of the gate, or a foreign one. */
const KEY_UNKNOWN = 'signature_kid_unknown'

/** Every check of a journal, line by line as the bytes come. */
export function createJournal({ crypto, keys, head, seals = [] }: JournalOptions) {
  const missing = createMissing()
  const heads = createHeads(keys, crypto, missing)
  const segments = createSeals(keys, crypto, missing)
  const events = createEvents(keys, crypto, missing)
  const halts = createHalts()
  const fromStart = (): boolean => beginning?.kind === 'start'
  const actions = createActions(crypto, fromStart)
  const humans = createHumans(fromStart)
  const sessions = createSessions(crypto, fromStart)
  const audits = createAudits(crypto)
  const commitments = createCommitments(keys, crypto, missing, fromStart)
  const given = createGivenHead(head, keys, crypto, missing)
  const linkage = createLinkage(crypto, begin)
  const unknown = new Map<string, number>()
  let beginning: Beginning | null = null
  let broken = false
  let adopted = false
  if (keys === undefined) missing.add('keys', NO_KEYS)

  function begin(first: Link, findings: Findings): Before | null {
    beginning = beginningOf(first, { seals, keys }, crypto, findings, missing)
    if (beginning.kind === 'archived') {
      const { seal, seq, at, head: counted } = beginning.seal
      heads.from(counted ?? NOTHING)
      segments.from(seal.segment + 1)
      return { seq, at, hash: first.prev, v: counted === null ? 1 : 2 }
    }
    if (beginning.kind === 'start') segments.from(1)
    if (beginning.kind === 'start' || first.v === 1 || first.type === 'ADOPTED') heads.from(NOTHING)
    return null
  }

  function obey(event: Event, link: Link, raw: Uint8Array, findings: Findings): void {
    const stands = events.check(link, event, findings)
    audits.event(event)
    switch (event.type) {
      case 'HEAD':
        heads.check(link, event, raw, findings)
        endBatch(findings)
        break
      case 'SEGMENT_SEALED':
        if (link.v === 2) heads.check(link, event, raw, findings)
        segments.check(link, event, raw, findings)
        endBatch(findings)
        break
      case 'ADOPTED':
        if (event.upto !== link.seq - 1 || event.hash !== link.prev)
          findings.fault('journal_adoption_mismatch', `it adopts up to line ${event.upto}`)
        events.adopted(event, findings)
        endBatch(findings)
        adopted = true
        break
      case 'ACTION_DISPATCHED':
        commitments.dispatched(event, findings)
        actions.dispatched(event, stoppedBy(event), findings)
        break
      case 'HALT':
        halts.halt(event)
        break
      case 'RESUME':
        halts.resume(event)
        break
      case 'APPROVAL_OPENED':
        if (stands) {
          humans.opened(event)
          sessions.asked(event)
        }
        break
      case 'APPROVAL_VOTED':
        if (stands) humans.voted(event)
        break
      case 'ITEM_CLOSED':
        if (stands) humans.closed(event)
        break
      default:
        if (stands) obeyIntent(event, findings)
    }
  }

  /** Declarations, what came of them, and their sessions. */
  function obeyIntent(event: Event, findings: Findings): void {
    switch (event.type) {
      case 'SESSION_OPENED':
        sessions.opened(event, findings)
        break
      case 'SESSION_CLOSED':
        sessions.closed(event)
        break
      case 'SESSION_AUDITED':
        audits.audited(event, fromStart(), findings)
        break
      case 'SESSION_RESUMED':
        sessions.resumed(event, findings)
        break
      case 'IDP_SUBMITTED':
        sessions.submitted(event, findings)
        commitments.submitted(event, findings)
        break
      case 'STATE_TRANSITIONED':
      case 'ACTION_RESULT_RECORDED':
        commitments.transitioned(event, findings)
        break
      case 'IDP_COMMITMENT_GAP':
        sessions.gap(event)
        commitments.verified(event, findings)
        break
      case 'IDP_COMMITMENT_VERIFIED':
        commitments.verified(event, findings)
        break
    }
  }

  const stoppedBy = (event: LineOf<'ACTION_DISPATCHED'>): Stopped =>
    halts.covers(event) ? 'halt' : sessions.stops(event) ? 'session' : null

  function endBatch(findings: Findings): void {
    humans.settle(findings)
    commitments.settle(findings)
    sessions.settle(findings)
  }

  function readUnknown({ type, seq }: Link, findings: Findings): void {
    const seen = unknown.get(type)
    if (seen === undefined && unknown.size >= MOST_TYPES) return
    unknown.set(detached(type), (seen ?? 0) + 1)
    const why = `lines of type ${clip(type)}, which this version does not know, from line ${seq} on`
    if (seen !== undefined) return
    findings.warn('journal_type_unknown', clip(type))
    missing.add(`type ${unknown.size}`, why)
  }

  function readCapsule(line: JsonObject, link: Link, findings: Findings): void {
    audits.capsule(line, link)
    const concluded = readConcluded(line, link)
    if (concluded === null) return
    actions.concluded(concluded, findings)
    humans.concluded(concluded, findings)
    commitments.concluded(concluded)
    sessions.concluded(concluded)
  }

  return {
    /** Known from the first line on. */
    begins: (): Beginning['kind'] | null => beginning?.kind ?? null,
    /** Everything but the capsule itself, which the ledger verifies. */
    read(line: JsonObject, raw: Uint8Array, terminated: boolean, findings: Findings): void {
      const link = linkage.add(line, raw, findings)
      if (!terminated) {
        findings.warn('line_unterminated', 'the last line has no LF')
        missing.add('end', 'the last line has no line feed: it is not whole')
      }
      if (link === null) return
      given?.line(link, findings)
      heads.count(link)
      if (link.type === 'CAPSULE') readCapsule(line, link, findings)
      else if (!isLineType(link.type)) readUnknown(link, findings)
      else {
        const event = readEvent(line, findings)
        if (event !== null) obey(event, link, raw, findings)
      }
      // A seal is of the lines before it.
      if (link.type !== 'SEGMENT_SEALED') segments.count(link)
    },
    /** Gets every line's result, so that the status is about all of them. */
    note({ findings }: Class1Result): void {
      for (const { severity, code, detail } of findings) {
        if (severity !== 'error') continue
        if (code !== KEY_UNKNOWN) broken = true
        else if (keys !== undefined) missing.addKey(detail ?? 'of a statement')
      }
    },
    notChecked,
    end(): JournalResult {
      const findings = new Findings()
      // Version 1 has no batches. What no head ends here is one that is being written: its end may be still to come.
      humans.settle(findings)
      events.end(findings)
      given?.end(linkage.last(), findings)
      reportEnd()
      const why = missing.list()
      const head = heads.last()
      const whole = !broken && !findings.failed
      return {
        status: whole ? (why.length === 0 ? 'valid' : 'incomplete') : 'invalid',
        complete:
          whole && head !== null && why.length === 0
            ? { ok: true, ...head }
            : { ok: false, why: whole ? why : ['it does not hold', ...why] },
        findings: findings.list,
        begun_before: { actions: actions.begunBefore(), approvals: humans.begunBefore() },
        not_checked: [
          ...notChecked(),
          ...(missing.keys() ? ['unknown_keys'] : []),
          ...(actions.begunBefore() > 0 ? ['actions_begun_before'] : []),
          ...(humans.begunBefore() > 0 ? ['approvals_begun_before'] : []),
          ...(commitments.declaredBefore() > 0 ? ['declarations_before'] : []),
          ...(audits.notDerived() > 0 ? ['session_audits'] : []),
          ...(beginning?.kind === 'start' ? [] : ['halts_before']),
          ...(adopted ? ['lines_before_adoption'] : []),
          ...(events.accepted() > 0 ? ['unsigned_lines_adopted'] : []),
          ...(humans.closedUnsigned() > 0 ? ['closed_items_of_version_1'] : []),
        ],
      }
    },
  }

  function notChecked(): readonly string[] {
    return [
      ...(keys === undefined ? ['event_signatures', 'head_signatures'] : []),
      ...(given === null ? ['journal_tail'] : []),
      ...(beginning?.kind === 'middle' ? ['earlier_journal_lines'] : []),
      ...(beginning?.kind === 'archived' ? ['archived_segments'] : []),
    ]
  }

  function reportEnd(): void {
    const last = linkage.last()
    if (last === null) missing.add('head', 'there is no line in it that can be read')
    else if (last.v === 1) missing.add('head', VERSION_1)
    else if (keys !== undefined) {
      const head = heads.last()
      if (head === null) missing.add('head', 'no signed head covers it')
      else if (heads.uncovered() > 0)
        missing.add(
          'head',
          `${heads.uncovered()} lines stand behind the last signed head, of line ${head.upto} and ${head.time}`,
        )
    }
    const { count, first } = actions.open()
    if (count > 0)
      missing.add(
        'actions',
        `${count} dispatched actions have no conclusion (in flight, or left by a crash): ${first.join(', ')}`,
      )
  }
}

const NOTHING = { lines: 0, capsules: 0 } as const
/** Named one by one; a hostile journal may hold any number. */
const MOST_TYPES = 8
