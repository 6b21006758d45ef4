import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  type EvidenceOptions,
  type OpenedEvidence,
  openEvidence,
} from '../../../src/adapters/evidence/open.js'

/** A store in a folder of its own, which can be opened, stopped and looked into. */
export const MASTER = new Uint8Array(32).fill(7)

export type Bench = {
  readonly dir: string
  evidence: OpenedEvidence
  reopen(over?: Partial<EvidenceOptions>): Promise<OpenedEvidence>
  dispose(): Promise<void>
}

export async function openBench(over: Partial<EvidenceOptions> = {}): Promise<Bench> {
  const dir = over.dir ?? (await mkdtemp(join(tmpdir(), 'evidence-')))
  const options = { dir, masterKey: MASTER, reserveBytes: 4096, ...over }
  const bench: Bench = {
    dir,
    evidence: await openEvidence(options),
    async reopen(again = {}) {
      await bench.evidence.close()
      bench.evidence = await openEvidence({ ...options, ...again })
      return bench.evidence
    },
    async dispose() {
      await bench.evidence.close()
      await rm(dir, { recursive: true, force: true })
    },
  }
  return bench
}
