import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from '@jest/globals'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { Capsule, ConstraintRecord } from '../../src/core/capsule/model.js'
import { type Line, readLine } from '../../src/core/journal/vocabulary.js'
import { jsonDigest, normalize } from '../../src/core/json/build.js'
import type { Plain } from '../../src/core/json/value.js'
import type { Rig } from './rig.js'

/**
 * What the draft demands of records and evidence, asked of everything that a gate has written so far, as
 * an auditor would: the journal, the evidence, and schemas out of the public documents alone.
 * Returns how many evidence objects each schema admitted.
 */
export async function expectConformance(at: Rig): Promise<ReadonlyMap<string, number>> {
  const schemas = publishedSchemas(at)
  const admitted = new Map<string, number>()
  const faults: string[] = []
  for (const raw of await at.lines()) {
    const line = readLine(raw)
    if (line === null) continue
    if (line.type === 'CAPSULE') faults.push(...recordFaults(line.capsule))
    for (const { digest, schema } of boundBy(line)) {
      const found = await at.gate.data.evidence.byDigest(digest)
      // Tests take evidence away on purpose; whether it is there is asked elsewhere.
      if (found.state !== 'present' || found.value.value === undefined) continue
      const { value } = found.value
      if (jsonDigest(value, nodeCrypto) !== digest) faults.push(`${schema}: another digest`)
      const name = schema.replace(/^.*\/\$defs\//, '')
      // As the store hands it out, and as it was digested.
      for (const form of [value, plain(normalize(value))]) {
        if (schemas.validate(schema, form)) continue
        faults.push(`${name}: ${schemas.errorsText()} in ${JSON.stringify(form)}`)
      }
      admitted.set(name, (admitted.get(name) ?? 0) + 1)
    }
  }
  expect(faults).toEqual([])
  return admitted
}

const plain = (value: Plain): unknown => JSON.parse(JSON.stringify(value))

/** By the published texts: compiling costs a quarter of a second, and most rigs of a suite publish the same. */
const compiled = new Map<string, Ajv2020>()

/** An outside validator's own defaults: its regular expressions, its strictness. */
function publishedSchemas({ dir }: Rig): Ajv2020 {
  const folder = join(dir, 'data', 'evidence', 'public')
  const texts = readdirSync(folder)
    .map((name) => readFileSync(join(folder, name), 'utf8'))
    .filter((text) => text.includes('"$id":"urn:capsule-gate:evidence:'))
    .sort()
  const known = compiled.get(texts.join())
  if (known !== undefined) return known
  const ajv = new Ajv2020({ strict: true, allErrors: true })
  for (const text of texts) ajv.addSchema(JSON.parse(text))
  compiled.set(texts.join(), ajv)
  return ajv
}

type Bound = { readonly digest: string; readonly schema: string }
const GATE = 'urn:capsule-gate:evidence:gate:1#/$defs/'

/** Every digest of an evidence object that the line commits to, and the schema that describes it. */
function boundBy(line: Line): readonly Bound[] {
  switch (line.type) {
    case 'CAPSULE':
      return (line.capsule.constraints ?? []).flatMap(({ id, evidence_digest: digest }) => {
        const of = `urn:capsule-gate:evidence:${line.capsule['dev.capsulegate.manifest_digest']}#/$defs/`
        const schema = `${id.startsWith('dev.capsulegate.') ? GATE : of}${id}`
        return digest === undefined ? [] : [{ digest, schema }]
      })
    case 'APPROVAL_OPENED':
      return [{ digest: line.document_digest, schema: `${GATE}approval_document` }]
    case 'APPROVAL_VOTED':
      return [{ digest: line.evidence_digest, schema: `${GATE}vote` }]
    case 'MANDATE_PRESENTED':
      return [{ digest: line.evidence_digest, schema: `${GATE}mandate` }]
    case 'REFUSAL_LIFTED':
      return [{ digest: line.evidence_digest, schema: `${GATE}reopening` }]
    case 'GRANT_ISSUED':
      return line.standing === true
        ? [{ digest: line.evidence_digest, schema: `${GATE}standing_order` }]
        : []
    default:
      return []
  }
}

/** Seed §8.1 and §9.1: namespaced, and lower-case snake_case behind the namespace. */
const NAMESPACED = /^[a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z][a-z0-9_]*$/

function* recordFaults(capsule: Capsule): Generator<string> {
  const { constraints = [], disposition, effect } = capsule
  for (const record of constraints) {
    for (const name of ['id', 'check_type', 'method'] as const) {
      if (!NAMESPACED.test(record[name] ?? '')) yield `${record.id}: ${name} is ${record[name]}`
    }
    if (record.blocking && !mayGate(record, capsule)) yield `${record.id}: it gated nothing`
  }
  const gated = constraints.some(({ blocking }) => blocking)
  const stopped = ['blocked', 'hitl_dispatched', 'needs_decision']
  if (stopped.includes(disposition.verdict_class) && !gated) {
    yield `${disposition.verdict_class} by no check`
  }
  if (effect !== undefined && gated) yield 'sent, although a check gated it'
  if (/\s/.test(`${disposition.authority ?? ''}${effect?.external_ref ?? ''}`)) {
    yield `prose: ${disposition.authority} ${effect?.external_ref}`
  }
}

/** What stops a session, or a call whose agent demands a person, does so in every mode (DESIGN §6). */
const NEVER_RELAXED: readonly string[] = [
  'dev.capsulegate.hem_urgency',
  'dev.capsulegate.idp_commitment',
  'dev.capsulegate.idp_mission',
]

/** Observe mode is relaxed except for these, and a policy that could not be judged. */
const mayGate = (
  { id, result }: ConstraintRecord,
  { disposition, 'dev.capsulegate.mode': mode }: Capsule,
): boolean =>
  result === 'fail' &&
  (mode !== 'observe' ||
    NEVER_RELAXED.includes(id) ||
    (id === 'dev.capsulegate.cedar' && disposition.verdict_class !== 'executed'))
