import { join } from 'node:path'
import { publicFiles } from '../../adapters/evidence/public-files.js'
import { GateError } from '../../core/error.js'
import type { EvidenceFinding } from './evidence.js'

/** A line that names a policy set or a manifest by its digest. */
export type Document = { readonly seq: number; readonly member: string }

/** Without the manifest and the policies the verdicts cannot be derived again (DESIGN §5). */
export async function documentFindings(
  evidence: string,
  documents: ReadonlyMap<string, Document>,
): Promise<EvidenceFinding[]> {
  const files = publicFiles(join(evidence, 'public'))
  const findings: EvidenceFinding[] = []
  for (const [digest, { seq, member }] of documents) {
    const found = (state: EvidenceFinding['state'], detail: string): void => {
      findings.push({ state, detail, seq, member, digest })
    }
    try {
      if ((await files.get(digest)) === null) found('missing', 'no public document has it')
    } catch (error) {
      if (!(error instanceof GateError)) throw error
      found('damaged', error.message)
    }
  }
  return findings
}
