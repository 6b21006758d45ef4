import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import { publicFiles } from '../../adapters/evidence/public-files.js'
import { type AuditedRecord, auditRecords } from '../../adapters/evidence/read/audit.js'
import { ownSecret } from '../../app/data/secrets.js'
import { GateError } from '../../core/error.js'
import { namesDigest } from '../../core/evidence/record-names.js'
import { createErasures, type Erasures } from '../../core/journal/erasures.js'
import { documentDigestsOf, evidenceDigestsOf } from '../../core/journal/evidence-digests.js'
import { readLine } from '../../core/journal/vocabulary.js'
import type { Folder } from '../access/data-folder.js'
import { ledgerFiles, readAll } from './files.js'

/** A line whose evidence is not there or cannot be read, or a record that cannot be read. */
type EvidenceFinding = {
  readonly state: 'missing' | 'damaged'
  readonly detail: string
  readonly seq: number | null
  readonly member: string | null
  readonly digest: string | null
}
/** Records that an erasure made dark, with the line that says so. */
type ErasedBy = { readonly seq: number; readonly at: string; readonly digests: number }
type Compared = {
  readonly kind: 'compared'
  readonly present: number
  readonly erased: readonly ErasedBy[]
  readonly findings: readonly EvidenceFinding[]
}
export type EvidenceReport = Compared | { readonly kind: 'cannot_tell'; readonly why: string }

type Store = Pick<Folder, 'data' | 'masterKey'>
/** A line that names a digest, and the member of the line. */
type Named = { readonly seq: number; readonly member: string }
type Due = Named & {
  /** Decisions whose capsules name it: each put a record of its own. */
  readonly decisions: Set<string>
  /** Records under erased keys that name it. */
  dark: number
  /** The best record so far that names it. */
  best: Exclude<AuditedRecord, { readonly state: 'read' }> | { readonly state: 'read' } | null
}
const RANK = { erased: 1, damaged: 2, read: 3 } as const
const READ = { state: 'read' } as const

/** Every digest that a line must have evidence for, against every record of the store, decrypted. */
export async function compareEvidence(folder: Store): Promise<EvidenceReport> {
  const { data, masterKey } = folder
  if (!existsSync(masterKey)) {
    return { kind: 'cannot_tell', why: `there is no master key ${masterKey} (--master-key)` }
  }
  // Lines first: their evidence was put before them, so a gate that runs meanwhile adds nothing missing.
  const { due, erasures, documents } = await readDue(data)
  const under = new Map<string, Dark>()
  const findings = await documentFindings(join(data, 'evidence', 'public'), documents)
  try {
    for (const record of auditRecords(join(data, 'evidence'), ownSecret(masterKey, 32))) {
      if (record.state === 'erased') addDark(under, record)
      const named = record.digests.flatMap((digest) => due.get(digest) ?? [])
      for (const known of named) {
        if (record.state === 'erased') known.dark++
        if (known.best !== null && RANK[record.state] <= RANK[known.best.state]) continue
        known.best = record.state === 'read' ? READ : record
      }
      if (record.state === 'damaged' && named.length === 0) {
        const { state, detail } = record
        findings.push({ state, detail, seq: null, member: null, digest: null })
      }
    }
  } catch (error) {
    if (!(error instanceof GateError)) throw error
    return { kind: 'cannot_tell', why: error.message }
  }
  return summed(due, erasures, under, findings)
}

async function readDue(data: string) {
  const due = new Map<string, Due>()
  /** Policy sets, manifests and definitions of tools by digest: kept in clear, beside the records. */
  const documents = new Map<string, Named>()
  const erasures = createErasures()
  for await (const { line: raw } of readAll(await ledgerFiles(data))) {
    const line = readLine(raw)
    if (line === null) continue
    erasures.add(line)
    const { seq } = line
    for (const { member, digest } of documentDigestsOf(line)) documents.set(digest, { seq, member })
    for (const { member, digest } of evidenceDigestsOf(line)) {
      const known = due.get(digest) ?? { seq, member, decisions: new Set(), dark: 0, best: null }
      due.set(digest, known)
      if (line.type !== 'CAPSULE') continue
      const { action_id, 'dev.capsulegate.decision_id': decision = action_id } = line.capsule
      known.decisions.add(decision)
    }
  }
  return { due, erasures, documents }
}

/** Without manifest, policies and definitions the verdicts cannot be derived again (DESIGN §5). */
async function documentFindings(
  folder: string,
  documents: ReadonlyMap<string, Named>,
): Promise<EvidenceFinding[]> {
  const files = publicFiles(folder)
  const findings: EvidenceFinding[] = []
  for (const [digest, named] of documents) {
    try {
      if ((await files.get(digest)) !== null) continue
      findings.push({ state: 'missing', detail: 'no public document has it', ...named, digest })
    } catch (error) {
      if (!(error instanceof GateError)) throw error
      findings.push({ state: 'damaged', detail: error.message, ...named, digest })
    }
  }
  return findings
}

/** The records under a key that is gone. */
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

function summed(
  due: ReadonlyMap<string, Due>,
  erasures: Erasures,
  under: ReadonlyMap<string, Dark>,
  unread: readonly EvidenceFinding[],
): Compared {
  const findings: EvidenceFinding[] = [...unread]
  const erased = new Map<string, ErasedBy>()
  const misfits = misfitting(under, erasures)
  let present = 0
  for (const [digest, { seq, member, decisions, dark, best }] of due) {
    const found = (state: EvidenceFinding['state'], detail: string): void => {
      findings.push({ state, detail, seq, member, digest })
    }
    if (best === null) found('missing', 'no record of the store names it')
    else if (best.state === 'read') present++
    else if (best.state === 'damaged') found('damaged', best.detail)
    else {
      const by = erasures.of(best.key)
      const records = under.get(best.key)?.records ?? 0
      if (by === null) found('missing', 'its key was destroyed, and no line says so')
      else if (by.records !== null && records > by.records) {
        found(
          'missing',
          `${records} records name the key that line ${by.seq} erased, which darkened ${by.records}`,
        )
      } else if (misfits.has(best.key)) {
        found('missing', `other records are under the key that line ${by.seq} erased`)
      } else if (decisions.size > dark) {
        // Equal octets have one digest: what was erased of one call does not explain another's.
        found('missing', `${decisions.size} calls need it, and ${dark} records of it were erased`)
      } else {
        const digests = (erased.get(best.key)?.digests ?? 0) + 1
        erased.set(best.key, { seq: by.seq, at: by.at, digests })
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
    const recorded = erasures.of(key)?.names ?? null
    if (recorded !== null && recorded !== namesDigest(names, nodeCrypto)) keys.add(key)
  }
  return keys
}

export function describeCounts({ present, erased, findings }: Compared): string {
  const dark = erased.reduce((sum, { digests }) => sum + digests, 0)
  const of = (state: EvidenceFinding['state']): number =>
    findings.filter((finding) => finding.state === state).length
  return `${present} digests present, ${dark} erased, ${of('missing')} missing, ${of('damaged')} damaged`
}
