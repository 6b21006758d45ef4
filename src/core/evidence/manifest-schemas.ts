import type { Manifest } from '../manifest/model.js'
import { constraintSchema } from './constraint-schema.js'
import { DIALECT, type ObjectSchema } from './schema-parts.js'

const URI = 'urn:capsule-gate:evidence:'

/**
 * One schema for the evidence of each constraint of a manifest, under its id in `$defs`; the document as
 * a whole admits the evidence of any of them. Null for a manifest without constraints.
 */
export function manifestSchemas(manifest: Manifest, digest: string): ObjectSchema | null {
  const constraints = Object.entries(manifest.constraints)
  if (constraints.length === 0) return null
  const uri = `${URI}${digest}`
  return {
    $schema: DIALECT,
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
