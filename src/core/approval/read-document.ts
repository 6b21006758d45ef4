import { irreversibility, octets, onExpiry } from '../capsule/shapes.js'
import { parse } from '../json/parse.js'
import {
  anyText,
  count,
  digest,
  flag,
  json,
  list,
  mapOf,
  nullable,
  oneOf,
  only,
  optional,
  read,
  record,
  type Shape,
  text,
  time,
  tuple,
} from '../json/shape.js'
import type { Plain } from '../json/value.js'
import { type ArgValue, typedValue } from '../manifest/constraint/typed-value.js'
import type { ApprovalDocument, ShownArgument } from './document.js'

const pair = tuple(anyText, anyText)
const document: Shape<ApprovalDocument> = record({
  document: only('gate.approval/v1'),
  approval_id: text,
  operator: text,
  agent: text,
  developer: text,
  tool: text,
  arguments: mapOf(
    record({
      type: oneOf('string', 'integer', 'decimal', 'boolean', 'strings', 'object', 'objects'),
      value: json,
    }),
  ),
  not_judged: optional(record({ query: list(pair), members: list(anyText), body: flag })),
  request: record({
    method: nullable(anyText),
    upstream: nullable(anyText),
    target: nullable(anyText),
    headers: list(pair),
    octets,
    body: nullable(anyText),
  }),
  routed_by: record({
    kind: oneOf('policy', 'constraint'),
    ids: list(anyText),
    reason: nullable(anyText),
  }),
  irreversibility: record({ class: irreversibility, words: anyText }),
  requested_at: time,
  deadline: record({ at: time, on_expiry: onExpiry, words: anyText }),
  quorum: count,
  roles: list(text),
  min_assurance: oneOf('L1', 'L2', 'L3'),
  on_approval: oneOf('retry', 'dispatch'),
  request_digest: digest,
  policy_digest: digest,
  manifest_digest: digest,
  salt: text,
})

/** The document as the evidence store gave it out; null for anything that is not one. */
export function readDocument(value: Plain | undefined): ApprovalDocument | null {
  const got = read(document, value)
  return got.ok ? got.value : null
}

/** The argument that was shown like this; null where value and type disagree. */
export function readArgument({ type, value }: ShownArgument): ArgValue | null {
  switch (type) {
    case 'string':
    case 'decimal':
      return typeof value === 'string' ? { type, value } : null
    case 'boolean':
      return typeof value === 'boolean' ? { type, value } : null
    case 'integer':
      return typeof value === 'string' && /^-?\d+$/.test(value)
        ? { type, value: BigInt(value) }
        : null
    case 'strings': {
      const got = read(strings, value)
      return got.ok ? { type, value: got.value.items ?? [] } : null
    }
    case 'object':
    case 'objects': {
      const parsed = typeof value === 'string' ? parse(value) : null
      return parsed?.ok ? typedValue(type, { kind: 'json', value: parsed.value }) : null
    }
  }
}

/** An empty list may have been normalized away. */
const strings = record({ items: optional(list(anyText)) })
