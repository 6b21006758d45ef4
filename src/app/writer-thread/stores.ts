import { nodeCrypto } from '../../adapters/crypto-node.js'
import {
  type EvidenceOptions,
  type OpenedEvidence,
  openEvidence,
} from '../../adapters/evidence/open.js'
import type { Seams as EvidenceSeams } from '../../adapters/evidence/seams.js'
import type {
  DriverEntry,
  JournalOptions,
  JournalReport,
  Seams as JournalSeams,
  OpenedJournal,
} from '../../adapters/journal/model.js'
import { openJournal } from '../../adapters/journal/open.js'
import { exportKeyring } from '../../adapters/keys/keyring.js'
import { openSigner } from '../../adapters/keys/signer.js'
import { ownSignatureFault } from '../../core/journal/own-signature.js'
import type { Clock } from '../../ports/clock.js'
import type { Journal } from '../../ports/journal.js'

/** The two stores a call is recorded in. They go together: evidence is there before the line that commits to it. */
export type Stores = {
  /** `extent` and checked appends are for the writer thread alone. */
  readonly journal: Omit<OpenedJournal, 'extent' | 'append'> & {
    append(
      entries: readonly DriverEntry[],
      options?: { urgent?: boolean; withNext?: boolean },
    ): ReturnType<Journal['append']>
  }
  readonly evidence: OpenedEvidence
}

/** Where and as what the stores are opened; plain values only, so that they can be handed to a thread. */
export type StoreOptions = {
  readonly journalDir: string
  readonly evidenceDir: string
  readonly keysDir: string
  readonly origin: string
  readonly masterKey: Uint8Array
  readonly headFile: string | null
  readonly acceptMissingHead: boolean
  readonly segmentBytes: number
}
export type StoreSeams = {
  readonly journalSeams?: JournalSeams
  readonly evidenceSeams?: EvidenceSeams
}

/** How the stores wait for the disk: in between other work, or, in a thread that has none, for good. */
export type SyncOptions = Pick<EvidenceOptions, 'gather'> & Pick<JournalOptions, 'files'>

export type OpenStores = Stores & { readonly journal: OpenedJournal }

/** Both stores in the calling thread. */
export async function openStores(
  options: StoreOptions,
  clock: Pick<Clock, 'now'>,
  report: (event: JournalReport) => void,
  { journalSeams, evidenceSeams }: StoreSeams = {},
  { gather, files }: SyncOptions = {},
): Promise<OpenStores> {
  const evidence = await openEvidence({
    dir: options.evidenceDir,
    masterKey: options.masterKey,
    ...(evidenceSeams === undefined ? {} : { seams: evidenceSeams }),
    ...(gather === undefined ? {} : { gather }),
  })
  try {
    const { keys } = exportKeyring(options.keysDir)
    const journal = await openJournal({
      dir: options.journalDir,
      origin: options.origin,
      signer: openSigner(options.keysDir),
      keys,
      lineFault: (line) => ownSignatureFault(line, keys, nodeCrypto),
      clock,
      headFile: options.headFile,
      acceptMissingHead: options.acceptMissingHead,
      segmentBytes: options.segmentBytes,
      report,
      ...(journalSeams === undefined ? {} : { seams: journalSeams }),
      ...(files === undefined ? {} : { files }),
    })
    return { journal, evidence }
  } catch (error) {
    // A start that fails half-way holds no lock afterwards.
    await evidence.close()
    throw error
  }
}
