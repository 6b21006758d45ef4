import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import { type AuditedRecord, auditRecords } from '../../adapters/evidence/read/audit.js'
import { ownSecret } from '../../app/data/secrets.js'
import type { Capsule } from '../../core/capsule/model.js'
import { GateError } from '../../core/error.js'
import { namesDigest } from '../../core/evidence/record-names.js'
import { createErasures, type Erasures } from '../../core/journal/erasures.js'
import { evidenceDigestsOf } from '../../core/journal/evidence-digests.js'
import { readLine } from '../../core/journal/vocabulary.js'
import type { Folder } from '../data-folder.js'
import { EXIT, plain, print, printJson } from '../output.js'
import { type Document, documentFindings } from './documents.js'
import { ledgerFiles, readAll } from './files.js'

/** A line whose evidence is not there or cannot be read, or a record that cannot be read. */
export type EvidenceFinding = {
  readonly state: 'missing' | 'damaged'
  readonly detail: string
  readonly seq: number | null
  readonly member: string | null
  readonly digest: string | null
}
/** Records that an erasure made dark, with the line that says so. */
export type ErasedBy = { readonly seq: number; readonly at: string; readonly digests: number }
export type EvidenceReport =
  | {
      readonly kind: 'compared'
      readonly present: number
      readonly erased: readonly ErasedBy[]
      readonly findings: readonly EvidenceFinding[]
    }
  | { readonly kind: 'cannot_tell'; readonly why: string }

/** Digests by what is known of them so far; a better state replaces a worse one. */
type Due = {
  readonly seq: number
  readonly member: string
  /** Decisions whose capsules name it: each put a record of its own. */
  readonly decisions: Set<string>
  /** Records under erased keys that name it. */
  dark: number
  state: State
}
type State =
  | { readonly kind: 'missing' }
  | { readonly kind: 'erased'; readonly key: string }
  | { readonly kind: 'damaged'; readonly detail: string }
  | { readonly kind: 'present' }
const RANK = { missing: 0, erased: 1, damaged: 2, present: 3 } as const

/** Every digest that a line must have evidence for, against every record of the store, opened. */
export async function compareEvidence({
  data,
  masterKey,
}: Pick<Folder, 'data' | 'masterKey'>): Promise<EvidenceReport> {
  if (!existsSync(masterKey)) {
    return { kind: 'cannot_tell', why: `there is no master key ${masterKey} (--master-key)` }
  }
  // Lines first: their evidence was put before them, so a gate that runs meanwhile adds nothing missing.
  const { due, erasures, documents } = await readDue(data)
  const under = new Map<string, Dark>()
  const findings: EvidenceFinding[] = await documentFindings(join(data, 'evidence'), documents)
  try {
    for (const record of auditRecords(join(data, 'evidence'), ownSecret(masterKey, 32))) {
      const state: State = stateOf(record)
      if (record.state === 'erased') addDark(under, record)
      let isNamed = false
      for (const digest of record.digests) {
        const known = due.get(digest)
        if (known === undefined) continue
        isNamed = true
        if (state.kind === 'erased') known.dark++
        if (RANK[state.kind] > RANK[known.state.kind]) known.state = state
      }
      if (state.kind === 'damaged' && !isNamed) findings.push(unnamed(state.detail))
    }
  } catch (error) {
    if (!(error instanceof GateError)) throw error
    return { kind: 'cannot_tell', why: error.message }
  }
  return summed(due, erasures, under, findings)
}

async function readDue(data: string): Promise<{
  readonly due: Map<string, Due>
  readonly erasures: Erasures
  /** Policy sets and manifests by digest: kept in clear, beside the records. */
  readonly documents: ReadonlyMap<string, Document>
}> {
  const due = new Map<string, Due>()
  const documents = new Map<string, Document>()
  const erasures = createErasures()
  for await (const { line: raw } of readAll(await ledgerFiles(data))) {
    const line = readLine(raw)
    if (line === null) continue
    erasures.add(line)
    if (line.type === 'CONFIG_CHANGED') {
      const { seq, policy_digest, manifest_digests } = line
      documents.set(policy_digest, { seq, member: 'policy_digest' })
      for (const digest of manifest_digests) {
        documents.set(digest, { seq, member: 'manifest_digests' })
      }
    }
    for (const { member, digest } of evidenceDigestsOf(line)) {
      const known = due.get(digest) ?? newDue(line.seq, member)
      due.set(digest, known)
      if (line.type === 'CAPSULE') known.decisions.add(decisionOf(line.capsule))
    }
  }
  return { due, erasures, documents }
}

const newDue = (seq: number, member: string): Due => ({
  ...{ seq, member, decisions: new Set<string>(), dark: 0 },
  state: { kind: 'missing' },
})
const decisionOf = (capsule: Capsule): string =>
  capsule['dev.capsulegate.decision_id'] ?? capsule.action_id

/** What stands under a key that is gone. */
type Dark = { records: number; readonly names: Set<string> }

function addDark(
  under: Map<string, Dark>,
  { key, names }: Extract<AuditedRecord, { readonly state: 'erased' }>,
): void {
  const dark = under.get(key) ?? { records: 0, names: new Set<string>() }
  dark.records++
  for (const name of names) dark.names.add(name)
  under.set(key, dark)
}

function stateOf(record: AuditedRecord): State {
  switch (record.state) {
    case 'read':
      return { kind: 'present' }
    case 'erased':
      return { kind: 'erased', key: record.key }
    case 'damaged':
      return { kind: 'damaged', detail: record.detail }
  }
}

const unnamed = (detail: string): EvidenceFinding => ({
  state: 'damaged',
  detail,
  seq: null,
  member: null,
  digest: null,
})

function summed(
  due: ReadonlyMap<string, Due>,
  erasures: Erasures,
  under: ReadonlyMap<string, Dark>,
  unread: readonly EvidenceFinding[],
): EvidenceReport {
  const findings: EvidenceFinding[] = [...unread]
  const erased = new Map<string, ErasedBy>()
  const misfits = misfitting(under, erasures)
  let present = 0
  for (const [digest, { seq, member, decisions, dark, state }] of due) {
    const found = (of: EvidenceFinding['state'], detail: string): void => {
      findings.push({ state: of, detail, seq, member, digest })
    }
    switch (state.kind) {
      case 'present':
        present++
        break
      case 'missing':
        found('missing', 'no record of the store names it')
        break
      case 'damaged':
        found('damaged', state.detail)
        break
      case 'erased': {
        const by = erasures.of(state.key)
        const records = under.get(state.key)?.records ?? 0
        if (by === null) found('missing', 'its key was destroyed, and no line says so')
        else if (by.records !== null && records > by.records) {
          found(
            'missing',
            `${records} records name the key that line ${by.seq} erased, which darkened ${by.records}`,
          )
        } else if (misfits.has(state.key)) {
          found('missing', `other records are under the key that line ${by.seq} erased`)
        } else if (decisions.size > dark) {
          // Equal octets have one digest: what was erased of one call does not explain another's.
          found('missing', `${decisions.size} calls need it, and ${dark} records of it were erased`)
        } else {
          const digests = (erased.get(state.key)?.digests ?? 0) + 1
          erased.set(state.key, { seq: by.seq, at: by.at, digests })
        }
      }
    }
  }
  findings.sort((a, b) => (a.seq ?? 0) - (b.seq ?? 0))
  return { kind: 'compared', present, erased: [...erased.values()], findings }
}

/** Keys under which other records stand than those that the line of their erasure darkened. */
function misfitting(under: ReadonlyMap<string, Dark>, erasures: Erasures): ReadonlySet<string> {
  const keys = new Set<string>()
  for (const [key, { names }] of under) {
    const said = erasures.of(key)?.names ?? null
    if (said !== null && said !== namesDigest(names, nodeCrypto)) keys.add(key)
  }
  return keys
}

const MAX_SHOWN = 50

/** Prints the comparison; 0 whole, 1 something is missing or damaged, 3 it cannot be told. */
export async function verifyEvidence(
  folder: Pick<Folder, 'data' | 'masterKey'>,
  json: boolean,
): Promise<number> {
  const report = await compareEvidence(folder)
  if (json) printJson({ type: 'evidence', ...report })
  else show(report)
  if (report.kind === 'cannot_tell') return EXIT.incomplete
  return report.findings.length === 0 ? EXIT.ok : EXIT.failed
}

/** Found broken outweighs what could not be told. */
export const worse = (one: number, other: number): number =>
  [EXIT.failed, EXIT.usage, EXIT.incomplete].find((code) => code === one || code === other) ??
  EXIT.ok

function show(report: EvidenceReport): void {
  if (report.kind === 'cannot_tell') {
    print(`  evidence: cannot be told, ${plain(report.why)}`)
    return
  }
  const { present, erased, findings } = report
  print(`  evidence: ${sayCounts(report)}`)
  for (const { seq, at, digests } of erased) {
    print(`  evidence: erased by line ${seq} of ${plain(at)}: ${digests} digests`)
  }
  for (const { state, seq, member, digest, detail } of findings.slice(0, MAX_SHOWN)) {
    const where = seq === null ? '' : ` line ${seq} ${plain(member ?? '')} ${digest}`
    print(`  evidence: ${state}${where}: ${plain(detail)}`)
  }
  const hidden = findings.length - MAX_SHOWN
  if (hidden > 0) print(`  evidence: … and ${hidden} more (--json has all)`)
  if (present + erased.length + findings.length === 0) print('  evidence: no line needs any')
}

export function sayCounts({
  present,
  erased,
  findings,
}: Extract<EvidenceReport, { kind: 'compared' }>): string {
  const dark = erased.reduce((sum, { digests }) => sum + digests, 0)
  const of = (state: EvidenceFinding['state']): number =>
    findings.filter((finding) => finding.state === state).length
  return `${present} digests present, ${dark} erased, ${of('missing')} missing, ${of('damaged')} damaged`
}
