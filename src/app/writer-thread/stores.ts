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
  /** `extent` and checked appends are between the writer and a thread beside it. */
  readonly journal: Omit<OpenedJournal, 'extent' | 'append'> & {
    append(
      entries: readonly DriverEntry[],
      options?: { urgent?: boolean },
    ): ReturnType<Journal['append']>
  }
  readonly evidence: OpenedEvidence
}

/** Plain values only: they can be handed to a thread. */
export type StoresPlace = {
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
export type Waiting = Pick<EvidenceOptions, 'gather'> & Pick<JournalOptions, 'files'>

/** Both stores in the calling thread. */
export async function openStores(
  place: StoresPlace,
  clock: Pick<Clock, 'now'>,
  report: (event: JournalReport) => void,
  { journalSeams, evidenceSeams }: StoreSeams = {},
  { gather, files }: Waiting = {},
): Promise<Stores & { readonly journal: OpenedJournal }> {
  const evidence = await openEvidence({
    dir: place.evidenceDir,
    masterKey: place.masterKey,
    ...(evidenceSeams === undefined ? {} : { seams: evidenceSeams }),
    ...(gather === undefined ? {} : { gather }),
  })
  try {
    const { keys } = exportKeyring(place.keysDir)
    const journal = await openJournal({
      dir: place.journalDir,
      origin: place.origin,
      signer: openSigner(place.keysDir),
      keys,
      lineFault: (line) => ownSignatureFault(line, keys, nodeCrypto),
      clock,
      headFile: place.headFile,
      acceptMissingHead: place.acceptMissingHead,
      segmentBytes: place.segmentBytes,
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
