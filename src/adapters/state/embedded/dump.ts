import { onExpiry, verdictClass } from '../../../core/capsule/shapes.js'
import { haltScope } from '../../../core/journal/lines/operate.js'
import { LINES, lineShape } from '../../../core/journal/vocabulary.js'
import {
  both,
  count,
  decimal,
  digest,
  either,
  list,
  nullable,
  type Of,
  oneOf,
  only,
  opaque,
  optional,
  type Read,
  read,
  record,
  type Shape,
  text,
  time,
  tuple,
} from '../../../core/json/shape.js'
import type { Hitl } from '../../../core/manifest/model.js'
import type { KeyState, ObjectState, Pin, Vote } from '../../../ports/state.js'
import { isIdText } from './sessions/replay-index.js'

/** What a snapshot keeps of the state: all that the lines so far established (DESIGN §5). */

const orphan = both(LINES.ACTION_DISPATCHED.members, record({ at: time, seq: count }))
/** An ACTION_DISPATCHED that no CAPSULE has concluded: in flight, or, after a restart, an orphan. */
export type Orphan = Of<typeof orphan>

const key: Shape<KeyState> = either(
  ({ state }) => state === 'completed',
  record({ state: only('completed'), actionId: text, capsuleId: digest, requestDigest: digest }),
  record({ state: oneOf('in_flight', 'unknown'), actionId: text, requestDigest: digest }),
)
const keyDump = tuple(count, text, key)
const amount = tuple(count, decimal, nullable(text))
const windowDump = tuple(text, digest, text, count, list(amount))
const grantDump = tuple(LINES.GRANT_ISSUED.members, count)

/** One open item of seed §5.4.4, with what a list of them shows. */
const openItem = record({
  capsule_id: digest,
  action_id: text,
  decision_id: text,
  operator: text,
  developer: text,
  verdict_class: verdictClass,
  timestamp: time,
  seq: count,
  request_digest: optional(digest),
  deadline: optional(record({ ttl_seconds: count, on_expiry: onExpiry })),
})
const older = record({ first: count, last: count })

const vote: Shape<Vote> = record({
  voter: digest,
  by: oneOf('person', 'machine'),
  outcome: oneOf('approve', 'deny', 'defer'),
  evidenceDigest: digest,
  line: lineShape('APPROVAL_VOTED'),
})
const hitl: Shape<Hitl> = record({
  ttl_seconds: count,
  quorum: count,
  roles: list(text),
  min_assurance: oneOf('L1', 'L2', 'L3'),
  on_approval: oneOf('retry', 'dispatch'),
  ladder: list(record({ roles: list(text), after_seconds: count })),
  reminders_seconds: list(count),
  refusal_seconds: optional(count),
})
const undecided = either(
  ({ kind }) => kind === 'pending',
  record({ kind: only('pending') }),
  record({ kind: only('approved'), grant: text }),
)
const closed = record({
  kind: only('closed'),
  actionId: text,
  capsuleId: digest,
  verdict: verdictClass,
  approver: oneOf('human', 'policy'),
})
const approval = record({
  approvalId: text,
  operator: text,
  agent: text,
  developer: text,
  tool: text,
  requestDigest: digest,
  policyDigest: digest,
  manifestDigest: digest,
  documentDigest: digest,
  openedAt: time,
  hitl,
  rung: count,
  opened: digest,
  parent: digest,
  deadline: record({ at: time, onExpiry }),
  votes: list(vote),
  decided: nullable(vote),
  reminded: count,
  /** A dump of 0.1 knows of no refusals that stand. */
  callIdentity: optional(nullable(digest)),
  refusedUntil: optional(nullable(time)),
  sessionId: optional(text),
  holds: optional(oneOf('session', 'call')),
  state: either(({ kind }) => kind === 'closed', closed, undecided),
})
const approvalDump = record({ approval, before: nullable(digest) })

const pin: Shape<Pin> = record({
  server: text,
  tool: text,
  definition: digest,
  changed: nullable(digest),
})

const session = record({
  sessionId: text,
  agent: text,
  openedAt: time,
  usedAt: time,
  lastStep: count,
  mismatches: count,
  gap: nullable(text),
  mandates: list(text),
  bound: list(text),
  holds: list(record({ approvalId: text, holds: oneOf('session', 'call') })),
})
/** `over` and `ids`: 16 octets for each session that ended and each declaration, base64url. */
const idText = opaque<string>(
  'ids of 16 octets each, base64url',
  (value) => typeof value === 'string' && isIdText(value),
)
const sessionDump = record({ open: list(session), over: list(idText), ids: list(idText) })
export type SessionDump = Of<typeof sessionDump>

const objectState: Shape<ObjectState> = record({
  state: nullable(text),
  principal: nullable(digest),
})
const governedDump = record({
  revoked: list(text),
  missions: list(tuple(text, text)),
  objects: list(tuple(text, objectState)),
})
export type GovernedDump = Of<typeof governedDump>

const dump = record({
  v: opaque<1>('1', (value) => value === 1),
  at: count,
  actions: list(orphan),
  keys: list(keyDump),
  windows: list(windowDump),
  grants: list(grantDump),
  items: list(openItem),
  /** Absent from dumps made when memory held all of them. */
  older_blocked: optional(nullable(older)),
  approvals: list(approvalDump),
  halts: list(haltScope),
  config: nullable(LINES.CONFIG_CHANGED.members),
  /** Absent from dumps of before MCP. */
  pins: optional(list(pin)),
  /** Absent from dumps of before intents. */
  sessions: optional(sessionDump),
  governed: optional(governedDump),
})
export type Dump = Of<typeof dump>

export const readDump = (value: unknown): Read<Dump> => read(dump, value)
