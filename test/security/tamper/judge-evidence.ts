import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { nodeCrypto } from '../../../src/adapters/crypto-node.js'
import { compareEvidence } from '../../../src/cli/ledger/evidence.js'
import { evidenceDigestsOf } from '../../../src/core/journal/evidence-digests.js'
import { type JournalLine, readLine } from '../../../src/core/journal/vocabulary.js'
import { jsonDigestOf } from '../../../src/core/json/build.js'
import { parse } from '../../../src/core/json/parse.js'
import { EVIDENCE, type Files, quickFolder, writeFolder } from './folder.js'
import { EVIDENCE_KEYS, frames, segmentPaths, slotOf } from './frames.js'
import type { World } from './operations/operation.js'
import { rowsOf } from './rows.js'

/** What `ledger verify --evidence` says of a folder, against what is really left of the honest store. */
export type EvidenceJudge = {
  judge(files: Files): Promise<string | null>
  /** Digests of lines whose record, key or document is not there any more as it was. */
  lost(files: Files): ReadonlySet<string>
  readonly counts: Record<string, number>
  close(): void
}
type Kept = { readonly bytes: Buffer; readonly slot: Buffer; readonly isErased: boolean }

export function createEvidenceJudge({ story }: World): EvidenceJudge {
  const root = quickFolder('evidence')
  const records = recordsOf(story.files)
  const { due, documents } = dueIn(story.files)
  const erased = new Set(
    [...due].filter((digest) => (records.get(digest) ?? []).every(({ isErased }) => isErased)),
  )
  const honestKeys = story.files.get(EVIDENCE_KEYS) as Buffer
  const counts: Record<string, number> = {}
  let made = 0

  /**
   * Whether that record stands somewhere with the octets it had, and its key where it was. Of one that was erased the
   * head is all that can be told apart: nobody reads the rest any more.
   */
  function isThere(
    { bytes, slot, isErased }: Kept,
    segments: readonly Buffer[],
    keys: Buffer,
  ): boolean {
    const number = bytes.readUInt32BE(12 + 32)
    const octets = isErased ? bytes.subarray(0, 12 + bytes.readUInt32BE(4) + 4) : bytes
    const now = keys.subarray(number * slot.length, (number + 1) * slot.length)
    const sameHead = keys.subarray(0, slot.length).equals(honestKeys.subarray(0, slot.length))
    return sameHead && now.equals(slot) && segments.some((segment) => segment.includes(octets))
  }

  function lost(files: Files): ReadonlySet<string> {
    const segments = segmentPaths(files).map((path) => files.get(path) as Buffer)
    const keys = files.get(EVIDENCE_KEYS) ?? Buffer.alloc(0)
    const gone = new Set<string>()
    for (const digest of due) {
      const all = records.get(digest) ?? []
      // The same octets may be in several records: one that was erased stands for no other.
      const live = all.filter(({ isErased }) => !isErased)
      const kept = live.length > 0 ? live : all
      if (!kept.some((record) => isThere(record, segments, keys))) gone.add(digest)
    }
    for (const digest of documents) {
      const path = `${EVIDENCE}/public/${digest}`
      if (!isDocument(digest, files.get(path))) gone.add(digest)
    }
    return gone
  }

  async function judge(files: Files): Promise<string | null> {
    const dir = join(root, String(made++))
    writeFolder(dir, files)
    const masterKey = join(dir, 'data', 'keys', 'evidence.key')
    const report = await compareEvidence({ data: join(dir, 'data'), masterKey })
    rmSync(dir, { recursive: true, force: true })
    const gone = lost(files)
    if (report.kind === 'cannot_tell') {
      counts['cannot be told'] = (counts['cannot be told'] ?? 0) + 1
      return gone.size > 0 ? null : `it cannot tell, and everything is there: ${report.why}`
    }
    const { findings } = report
    const kind =
      findings.length === 0
        ? 'whole'
        : [...new Set(findings.map((f) => f.state))].sort().join(' and ')
    counts[kind] = (counts[kind] ?? 0) + 1
    const told = new Set(findings.map(({ digest }) => digest))
    const untold = [...gone].filter((digest) => !told.has(digest))
    if (untold.length > 0) return `${untold.length} digests have no evidence, and are not told`
    const wrong = findings.filter(({ digest }) => digest !== null && !gone.has(digest))
    // More records under an erased key than its line counted: which of them are new cannot be told.
    const certain = wrong.filter(({ digest }) => !erased.has(digest ?? ''))
    if (certain.length > 0) return `${certain.length} digests are told that have their evidence`
    const dark = report.erased.reduce((sum, { digests }) => sum + digests, 0)
    return dark <= erased.size ? null : `${dark} digests count as erased, and ${erased.size} are`
  }

  return { judge, lost, counts, close: () => rmSync(root, { recursive: true, force: true }) }
}

/** By its octets, or as the JSON document whose digest it is, in which empty members do not count. */
function isDocument(digest: string, bytes: Buffer | undefined): boolean {
  if (bytes === undefined) return false
  if (nodeCrypto.sha256Hex?.(bytes) === digest) return true
  const read = parse(bytes)
  return read.ok && jsonDigestOf(read.value, nodeCrypto) === digest
}

function recordsOf(files: Files): ReadonlyMap<string, readonly Kept[]> {
  const records = new Map<string, Kept[]>()
  const keys = files.get(EVIDENCE_KEYS) as Buffer
  for (const path of segmentPaths(files)) {
    const segment = files.get(path) as Buffer
    for (const { offset, length, keyId, digests } of frames(segment)) {
      const slot = slotOf(keys, keyId)
      const record = {
        bytes: segment.subarray(offset, offset + length),
        slot,
        isErased: slot[0] === 2,
      }
      for (const digest of digests) records.set(digest, [...(records.get(digest) ?? []), record])
    }
  }
  return records
}

function dueIn(files: Files): { due: ReadonlySet<string>; documents: ReadonlySet<string> } {
  const due = new Set<string>()
  const documents = new Set<string>()
  for (const { text } of rowsOf(files) ?? []) {
    const line = readLine(JSON.parse(Buffer.from(text, 'latin1').toString('utf8')) as JournalLine)
    if (line === null) continue
    for (const { digest } of evidenceDigestsOf(line)) due.add(digest)
    if (line.type === 'CONFIG_CHANGED') {
      for (const digest of [line.policy_digest, ...line.manifest_digests]) documents.add(digest)
    }
    if (line.type === 'TOOLS_PINNED') {
      for (const { definition } of line.tools) documents.add(definition)
    }
    if (line.type === 'TOOL_CHANGED') documents.add(line.seen)
    if (line.type === 'SESSION_AUDITED') documents.add(line.audit_digest)
  }
  return { due, documents }
}
