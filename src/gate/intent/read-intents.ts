import { hex } from '../../core/bytes/hex.js'
import { fromUtf8, utf8 } from '../../core/bytes/text.js'
import type { VerdictClass } from '../../core/capsule/registries.js'
import { readIntent } from '../../core/intent/read.js'
import { intentContext } from '../../core/journal/encryption-context.js'
import type { VerificationRecord } from '../../core/journal/lines/intent.js'
import { type Line, type LineOf, readLine } from '../../core/journal/vocabulary.js'
import type { Parts } from '../context.js'

export type IntentQuery = {
  readonly session?: string | undefined
  readonly object?: string | undefined
  readonly goal?: string | undefined
  readonly agent?: string | undefined
  /** Lines behind this one. */
  readonly after: number
  readonly limit: number
  /** Restricted declarations too: for external auditors alone (seed intent-declaration-primitive-01 §4.2). */
  readonly restricted: boolean
}
/** The received octets as text, or why they cannot be read. */
export type Declaration =
  | { readonly state: 'present'; readonly text: string }
  | { readonly state: 'erased' | 'missing' }
  | { readonly state: 'damaged'; readonly detail: string }
export type IntentFound = {
  readonly line: LineOf<'IDP_SUBMITTED'>
  /** Of its own call; null: it is under way, or its lines were not reached. */
  readonly verdict: VerdictClass | null
  readonly capsuleId: string | null
  /** Null: it was not sent, or is under way. */
  readonly matchResult: VerificationRecord['match_result'] | null
  readonly declaration: Declaration
}
export type IntentPage = {
  readonly found: readonly IntentFound[]
  /** The next page's `after`; null: the journal has no more. */
  readonly next: number | null
}

/** Lines that one page reads at most: a query that finds little goes on with the next page. */
const MOST_LINES = 20_000
/** Lines read behind the last declaration of a page: what came of most calls stands there. */
const LOOK_AHEAD = 2_000

type Row = {
  readonly line: LineOf<'IDP_SUBMITTED'>
  capsule: LineOf<'CAPSULE'> | null
  match: IntentFound['matchResult']
}
type Reading = Pick<Parts, 'journal' | 'evidence' | 'oneTime' | 'crypto'>

/** Declarations on record, oldest first, page by page. */
export async function readIntents(query: IntentQuery, parts: Reading): Promise<IntentPage> {
  const { journal } = parts
  const rows = new Map<string, Row>()
  const read = new Map<string, Declaration>()
  let last = query.after
  let until = query.after + MOST_LINES
  let next: number | null = null
  for await (const raw of journal.lines(query.after + 1)) {
    if (raw.seq > until) {
      next = last
      break
    }
    const isFull = rows.size >= query.limit
    if (!isFull) last = raw.seq
    const line = readLine(raw)
    if (line === null) continue
    if (line.type !== 'IDP_SUBMITTED') note(line, rows)
    else if (!isFull && (await isWanted(line, query, read, parts))) {
      rows.set(line.action_id, { line, capsule: null, match: null })
      if (rows.size >= query.limit) until = Math.min(until, raw.seq + LOOK_AHEAD)
    }
  }
  if (rows.size >= query.limit) next = last
  const found = await Promise.all([...rows.values()].map((row) => complete(row, read, parts)))
  return { found, next }
}

function note(line: Exclude<Line, LineOf<'IDP_SUBMITTED'>>, rows: Map<string, Row>): void {
  switch (line.type) {
    case 'CAPSULE': {
      const row = rows.get(line.capsule.action_id)
      if (row !== undefined && line.statement === 'agent_action') row.capsule ??= line
      break
    }
    case 'IDP_COMMITMENT_VERIFIED':
    case 'IDP_COMMITMENT_GAP': {
      // By the step: a call that waited is sent under an action of its own.
      const row = [...rows.values()].find((each) => isOfStep(each, line))
      if (row !== undefined) row.match = line.record.match_result
      break
    }
  }
}

const isOfStep = (
  { line: { session_id, idp_id } }: Row,
  of: LineOf<'IDP_COMMITMENT_VERIFIED' | 'IDP_COMMITMENT_GAP'>,
): boolean => session_id === of.session_id && idp_id === of.record.idp_id

async function isWanted(
  line: LineOf<'IDP_SUBMITTED'>,
  { session, object, goal, agent, restricted }: IntentQuery,
  read: Map<string, Declaration>,
  parts: Reading,
): Promise<boolean> {
  if (!line.audit_accessible && !restricted) return false
  if (session !== undefined && line.session_id !== session) return false
  if (object !== undefined && line.so_id !== object) return false
  if (agent !== undefined && line.agent !== agent) return false
  if (goal === undefined) return true
  if (line.declared !== undefined) return line.declared.goal_id === goal
  // Of a restricted one the line does not say the goal.
  const declaration = await declarationOf(line, parts)
  read.set(line.event_id, declaration)
  return goalOf(declaration) === goal
}

function goalOf(declaration: Declaration): string | null {
  if (declaration.state !== 'present') return null
  const read = readIntent(utf8(declaration.text), { pii: 'off' })
  return read.ok ? (read.intent.goal?.id ?? null) : null
}

/** Decrypted under the key in the evidence, and held against the digest that the signed line says. */
async function declarationOf(
  { event_id, intent, intent_digest, evidence_digest }: LineOf<'IDP_SUBMITTED'>,
  { evidence, oneTime, crypto }: Reading,
): Promise<Declaration> {
  const found = await evidence.byDigest(evidence_digest)
  if (found.state !== 'present') return found
  const key = found.value.bytes
  if (key === undefined) return { state: 'damaged', detail: 'the evidence has no key' }
  const octets = oneTime.decrypt(intent, key, intentContext(event_id, intent_digest))
  if (octets === null) return { state: 'damaged', detail: 'the key does not open it' }
  if (hex(crypto.sha256(octets)) !== intent_digest)
    return { state: 'damaged', detail: 'it is not what its digest says' }
  const text = fromUtf8(octets)
  return text === null ? { state: 'damaged', detail: 'it is no UTF-8' } : { state: 'present', text }
}

async function complete(
  { line, capsule, match }: Row,
  read: ReadonlyMap<string, Declaration>,
  parts: Reading,
): Promise<IntentFound> {
  const declaration = read.get(line.event_id) ?? (await declarationOf(line, parts))
  const concluded = capsule ?? (await capsuleOf(line.action_id, parts))
  const found = match ?? (await matchOf(line, parts))
  return {
    line,
    verdict: concluded?.capsule.disposition.verdict_class ?? null,
    capsuleId: concluded?.capsule.capsule_id ?? null,
    matchResult: found,
    declaration,
  }
}

async function capsuleOf(
  actionId: string,
  { journal }: Reading,
): Promise<LineOf<'CAPSULE'> | null> {
  for (const line of await journal.find(actionId)) {
    if (line.type === 'CAPSULE' && line.capsule.action_id === actionId) return line
  }
  return null
}

/** Actions of one decision that are looked at; a call that waited has one or two. */
const MOST_ACTIONS = 20
/** The lines on a transition stand in one append with its capsule. */
const LINES_BESIDE = 8

/** Of a call that waited, what came of it stands as far on as its decision took. */
async function matchOf(
  { action_id: decision, session_id, idp_id }: LineOf<'IDP_SUBMITTED'>,
  { journal }: Reading,
): Promise<IntentFound['matchResult']> {
  const { entries } = await journal.list({ decision }, { after: 0, limit: MOST_ACTIONS })
  for (const { seq, line } of entries) {
    if (line.capsule.effect === undefined) continue
    for await (const raw of journal.lines(seq + 1)) {
      if (raw.seq > seq + LINES_BESIDE) break
      const beside = readLine(raw)
      const isVerification =
        beside?.type === 'IDP_COMMITMENT_VERIFIED' || beside?.type === 'IDP_COMMITMENT_GAP'
      if (!isVerification || beside.session_id !== session_id) continue
      if (beside.record.idp_id === idp_id) return beside.record.match_result
    }
  }
  return null
}
