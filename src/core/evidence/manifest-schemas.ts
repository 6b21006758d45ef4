import { canonicalOf } from '../json/build.js'
import type { Plain } from '../json/value.js'
import { isWindowed } from '../manifest/constraint/claims.js'
import { usesClock } from '../manifest/constraint/inputs.js'
import { leavesOf, thresholdsOf } from '../manifest/constraint/leaves.js'
import { conforms } from '../manifest/constraint/schema.js'
import type { Constraint, Manifest } from '../manifest/model.js'
import * as s from './schema-parts.js'

const URI = 'urn:capsule-gate:evidence:'

/**
 * One schema for the evidence of each constraint of a manifest, under its id in `$defs`; the document as
 * a whole admits the evidence of any of them. Null for a manifest without constraints.
 */
export function manifestSchemas(manifest: Manifest, digest: string): s.ObjectSchema | null {
  const constraints = Object.entries(manifest.constraints)
  if (constraints.length === 0) return null
  const uri = `${URI}${digest}`
  return {
    $schema: s.DIALECT,
    $id: uri,
    anyOf: constraints.map(([id]) => ({ $ref: `#/$defs/${id}` })),
    $defs: Object.fromEntries(
      constraints.map(([id, constraint]) => [
        id,
        constraintSchema(id, constraint, digest, `${uri}:${id}:inputs`),
      ]),
    ),
  }
}

/**
 * The whole object behind a constraint's `evidence_digest` (seed §8.2), of which the manifest's
 * `evidence_schema` describes the inputs alone. It follows from the manifest and is no part of it: the
 * manifest's digest, and every grant and open item bound to that, stay what they are.
 */
function constraintSchema(
  id: string,
  constraint: Constraint,
  manifestDigest: string,
  uri: string,
): s.Schema {
  const { predicate, select, evidence_schema: given } = constraint
  const clock: s.Members = usesClock(predicate) ? { now: s.TIME } : {}
  const window: s.Members = isWindowed(predicate)
    ? { window: windowSchema(predicate.window_seconds) }
    : {}
  const names = Object.keys(select).map((name): [string, s.Schema] => [name, true])
  const inputs = conforms(given, {}) === true ? [] : ['inputs']
  const judged = [...inputs, ...Object.keys(clock), ...Object.keys(window)]
  return {
    ...s.closed(
      {
        constraint: { const: id },
        manifest_digest: { const: manifestDigest },
        outcome: s.oneOf('pass', 'fail', 'error'),
        salt: s.SALT,
      },
      {
        inputs: s.closed({}, Object.fromEntries(names)),
        thresholds: s.closed({}, thresholdMembers(constraint)),
        ...clock,
        ...window,
      },
    ),
    // Inputs that do not conform to the author's schema are what an error is about.
    if: { properties: { outcome: { const: 'error' } } },
    else: {
      properties: {
        ...Object.fromEntries(judged.map((name) => [name, true])),
        inputs: resource(given, uri),
      },
      ...(judged.length === 0 ? {} : { required: judged }),
    },
  }
}

const windowSchema = (seconds: number): s.Schema =>
  s.closed({ scope: s.DIGEST, seconds: { const: seconds }, prior: s.DECIMAL, amount: s.DECIMAL })

/** Exactly the manifest's own literals; of a look-up, one of them. */
function thresholdMembers({ predicate, thresholds }: Constraint): s.Members {
  const literals = new Map<string, Map<string, Plain>>()
  for (const leaf of leavesOf(predicate)) {
    for (const [, { threshold, by }] of thresholdsOf(leaf.predicate)) {
      const value = thresholds[threshold] as Plain
      const among = by === undefined ? [value] : Object.values(value as object)
      const known = literals.get(threshold) ?? new Map<string, Plain>()
      for (const literal of among as Plain[]) known.set(canonicalOf(literal), literal)
      literals.set(threshold, known)
    }
  }
  return Object.fromEntries(
    [...literals].map(([name, known]) => [name, { enum: [...known.values()] }]),
  )
}

/** A schema resource of its own, so that a `#/…` inside the author's schema still means that schema. */
const resource = (given: Plain, $id: string): s.Schema =>
  typeof given === 'boolean' ? given : { ...(given as { [name: string]: Plain }), $id }
