import { mode } from '../../capsule/shapes.js'
import * as s from '../../json/shape.js'
import { line } from './line-type.js'

export const haltScope = s.either(
  ({ kind }) => kind === 'all',
  s.record({ kind: s.only('all') }),
  s.record({ kind: s.oneOf('agent', 'session', 'tool', 'operator'), name: s.text }),
)
/** What a halt stops: one agent, one of its sessions, a tool or an operator, or everything. */
export type HaltScope = s.Of<typeof haltScope>

/** A person's name stands in evidence, a pseudonym here: lines are public and stay (promise 8). */
export const ACTOR = { actor: s.digest, evidence_digest: s.digest }
type Fields = { readonly [name: string]: s.Shape<unknown> | s.Optional<unknown> }
/** Lines of before pseudonyms name who acted in clear, as `by`. */
const acted = <M extends Fields>(more: M) =>
  s.either(
    ({ by }) => by === undefined,
    s.record({ ...more, ...ACTOR }),
    s.record({ ...more, by: s.text }),
  )

const halt = acted({ scope: haltScope })
/** Absent from lines of 0.1, and where there was no such key. */
const key = s.optional(s.text)
/**
 * A subject is named by a keyed digest only. `key` is the id of the key that goes: it tells a record that was
 * erased from one whose key was destroyed behind the gate's back.
 */
const erasure = <M extends Fields>(more: M) =>
  s.either(
    ({ subject_tag }) => subject_tag !== undefined,
    acted({ subject_tag: s.digest, key, ...more }),
    acted({ operator: s.text, day: s.text, key, ...more }),
  )

/** What a head says of all lines before it. `hash` is the leaf hash of line `upto`. */
const HEAD_MEMBERS = {
  upto: s.count,
  hash: s.digest,
  time: s.time,
  lines: s.count,
  capsules: s.count,
}
const seal = s.record({
  segment: s.positive,
  size: s.positive,
  root: s.digest,
  ...HEAD_MEMBERS,
  counts: s.mapOf(s.positive),
})
const sealOfVersion1 = s.record({
  segment: s.positive,
  size: s.positive,
  root: s.digest,
  head: s.digest,
})

/** What operators and the gate itself leave. */
export const OPERATE_LINES = {
  HALT: line({
    signed: true,
    says: 'An operator halted this scope. `actor` is a pseudonym, the name is in the evidence; older lines have the name instead, as `by`.',
    members: halt,
    shown: ['scope', 'actor'],
  }),
  RESUME: line({
    signed: true,
    says: 'An operator lifted exactly this halt. `actor` and `by` as in HALT.',
    members: halt,
    shown: ['scope', 'actor'],
  }),
  CONFIG_CHANGED: line({
    signed: true,
    says: 'Policies, manifests or mode that judge calls from here on.',
    members: s.record({ policy_digest: s.digest, manifest_digests: s.list(s.digest), mode }),
    shown: ['policy_digest', 'manifest_digests', 'mode'],
  }),
  EVIDENCE_ERASING: line({
    signed: true,
    says: 'A key of the evidence store is about to be destroyed. Without EVIDENCE_ERASED behind it, it has to be erased again. `actor` and `by` as in HALT.',
    members: erasure({}),
    shown: ['operator', 'day', 'actor'],
  }),
  EVIDENCE_ERASED: line({
    signed: true,
    says: 'The key is gone, and so many records with it; `names_digest` is of the names they have in the index of the store. `actor` and `by` as in HALT.',
    members: erasure({ records: s.count, names_digest: s.optional(s.digest) }),
    shown: ['operator', 'day', 'actor', 'records'],
  }),
  HEAD: line({
    signed: true,
    says: 'The end of a batch: everything up to line `upto` is what the gate wrote. `lines` and `capsules` count the lines of version 2 from the first on, without heads and seals.',
    members: s.record(HEAD_MEMBERS),
    shown: ['upto', 'hash', 'time', 'lines', 'capsules'],
  }),
  SEGMENT_SEALED: line({
    signed: true,
    says: 'The last line of a segment, and the head of its batch: how many lines stand before it in the segment, their RFC 6962 root and how many there are of each type. Version 1 has `head`, the hash of the last of them, instead of the members of a head.',
    members: s.either(({ head }) => head !== undefined, sealOfVersion1, seal),
    shown: [
      'segment',
      'size',
      'root',
      'head',
      'upto',
      'hash',
      'time',
      'lines',
      'capsules',
      'counts',
    ],
  }),
  ADOPTED: line({
    signed: true,
    says: 'The first line of version 2 behind a journal of version 1: the signatures of that journal were checked up to line `upto`, and an operator accepted what it holds unsigned.',
    members: s.record({
      upto: s.positive,
      hash: s.digest,
      /** Lines and capsules of version 1 that were there to be counted. */
      lines: s.count,
      capsules: s.count,
      /** What was accepted: lines without the signature their type has today, and calls without an end. */
      unsigned: s.list(s.positive),
      orphans: s.list(s.text),
    }),
    shown: ['upto', 'hash', 'lines', 'capsules', 'unsigned', 'orphans'],
  }),
  REFUSALS_DROPPED: line({
    signed: false,
    says: 'So many connections of one source were closed unread in a window, because it had sent too many calls without a credential. With `agent`: so many of its reports that no permit covers were not recorded one by one.',
    members: s.record({
      source_hash: s.digest,
      count: s.count,
      window_seconds: s.count,
      agent: s.optional(s.anyText),
    }),
    shown: [],
  }),
  WEBHOOK_DISABLED: line({
    signed: true,
    says: 'An endpoint gets no more deliveries.',
    members: s.record({ endpoint: s.text }),
    shown: [],
  }),
  WEBHOOK_ENABLED: line({
    signed: true,
    says: 'An endpoint gets deliveries again.',
    members: s.record({ endpoint: s.text }),
    shown: [],
  }),
  WEBHOOK_DEAD: line({
    signed: true,
    says: 'What an endpoint should have been told about an approval could not be delivered; `of` is the line it was about.',
    members: s.record({
      endpoint: s.text,
      webhook_id: s.text,
      event: s.text,
      approval_id: s.text,
      of: s.count,
      why: s.anyText,
    }),
    shown: [],
  }),
} as const
