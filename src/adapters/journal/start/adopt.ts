import { GateError } from '../../../core/error.js'
import { signEvent } from '../../../core/journal/event.js'
import type { SignedHead } from '../../../core/journal/head.js'
import { SEAL_TYPE } from '../../../core/journal/seal.js'
import { syncFolder } from '../../disk/folder.js'
import { lockFolder } from '../../disk/lock.js'
import { withFile } from '../../disk/with-file.js'
import type { JournalOptions } from '../model.js'
import type { Cursor, LinkedLine } from '../read/chain.js'
import { newTree } from '../read/hash.js'
import { parseLine } from '../read/lines.js'
import { segmentPath } from '../segments.js'
import { createComposer, headSigner } from '../write/compose.js'
import { takeEpoch } from '../write/epoch.js'
import { createStamp } from '../write/timestamp.js'
import { cutUnfinished } from './boot.js'
import { checkSeal } from './check-seal.js'
import { checkAgainstHead, readSecondHead } from './check-second-head.js'
import { readSegments, type Tail } from './cover.js'
import { readLayout } from './layout.js'
import { openHeadWriter, readHeadFile } from './second-head-file.js'
import { readSnapshotFile } from './snapshot.js'

/** What a journal of version 1 holds, and what of it is not signed. */
export type Examined = {
  readonly upto: number
  readonly hash: string
  readonly lines: number
  readonly capsules: number
  /** Lines of a type that is signed today, without a signature. */
  readonly unsigned: readonly { readonly seq: number; readonly type: string }[]
  /** Calls that were to be sent and have no end: the next start concludes them. */
  readonly orphans: readonly string[]
  /** Whether its second head was there and holds. */
  readonly secondHead: 'holds' | 'missing'
}
export type Adoption =
  | { readonly kind: 'adopted'; readonly found: Examined; readonly head: SignedHead }
  /** Nothing was written: there is something that an operator has to accept first. */
  | { readonly kind: 'to_accept'; readonly found: Examined }

export type AdoptOptions = Pick<
  Required<JournalOptions>,
  'dir' | 'origin' | 'signer' | 'keys' | 'clock' | 'headFile' | 'lineFault'
>

export const isClean = ({ unsigned, orphans, secondHead }: Examined): boolean =>
  unsigned.length === 0 && orphans.length === 0 && secondHead === 'holds'

/**
 * Takes a journal of version 1 over: every signature in it is checked, then a signed ADOPTED line names its last line,
 * and a head covers both. There is no way back down: where anything of version 2 was ever written, it is refused.
 */
export async function adoptJournal(
  options: AdoptOptions,
  accept: (found: Examined) => boolean,
): Promise<Adoption> {
  const { dir } = options
  const lock = await lockFolder(dir, 'journal', () => `pid ${process.pid}, adopting`)
  try {
    const epoch = await takeEpoch(dir)
    await refuseVersion2(options)
    const read = await examine(options)
    const { found } = read
    if (!accept(found)) return { kind: 'to_accept', found }
    epoch.check()
    const head = read.adopted ?? (await writeAdopted(options, read))
    await writeSecond(options, head)
    return { kind: 'adopted', found, head }
  } finally {
    await lock.release()
  }
}

const noWayDown = (what: string, file: string): GateError =>
  new GateError(
    'damaged',
    `${what}: this journal was written by version 2 before, and there is no way back to version 1. Put back the newest copy`,
    { file },
  )

/** Signed traces of version 2 beside the lines. */
async function refuseVersion2({ dir, origin, keys, headFile }: AdoptOptions): Promise<void> {
  const snapshot = await readSnapshotFile(dir, origin, keys)
  if (snapshot.kind === 'signed' && snapshot.snapshot.v === 2) {
    throw noWayDown(`the snapshot stands on head ${snapshot.snapshot.seq}`, dir)
  }
  const kept = headFile === null ? null : await readHeadFile(headFile)
  const signed = [kept?.newest, kept?.older].find((head) => head != null && head.signed !== null)
  if (headFile !== null && signed != null) {
    throw noWayDown(`the second head is signed (line ${signed.seq})`, headFile)
  }
}

type Examination = Tail & {
  readonly found: Examined
  /** The last line is a seal: the next one needs a new file. */
  readonly sealed: boolean
  /** An adoption that reached its head, but not the second file: only that is left to do. */
  readonly adopted: SignedHead | null
}

async function examine(options: AdoptOptions): Promise<Examination> {
  const { dir, lineFault, headFile } = options
  const { base, present, isNew } = await readLayout(options)
  if (isNew) throw new GateError('damaged', 'there is no line to adopt', { file: dir })
  const second = await readSecondHead(options, () => undefined)
  const unsigned: { seq: number; type: string }[] = []
  const open = new Set<string>()
  let lines = 0
  let capsules = 0
  let last = { seq: base.seq, hash: base.prev, type: '' }
  let tree = newTree()
  const visit = (line: LinkedLine, file: string, start: Cursor): void => {
    const { seq, type, v, hash } = line
    if (type !== SEAL_TYPE) tree.push(hash)
    if (v === 2) return
    const location = { file, line: seq - start.seq }
    const read = parseLine(line, location)
    const fault = lineFault(read)
    if (fault === 'unsigned') unsigned.push({ seq, type })
    else if (fault !== null) {
      const why = `line ${seq} is a ${type} whose signature does not hold (${fault})`
      throw new GateError('damaged', why, location)
    }
    if (seq === second?.seq) checkAgainstHead(second, hash, headFile ?? dir)
    lines++
    last = { seq, hash, type }
    if (type === 'CAPSULE') {
      capsules++
      open.delete(String(Object(read.capsule).action_id))
    }
    if (type === 'ACTION_DISPATCHED') open.add(String(read.action_id))
  }
  const numbers = present.map(({ number }) => number)
  const tail = await readSegments(options, numbers, base, visit, (file, number, scanned) => {
    const contents = { root: tree.root(), counts: {} }
    if (checkSeal(file, number, scanned, contents, options) !== null) {
      throw noWayDown(`segment ${number} has a seal of version 2`, file)
    }
    tree = newTree()
  })
  const { number, cover } = tail
  const file = segmentPath(dir, number)
  const { seq: upto, hash } = last
  // ADOPTED and its head: nothing was written since, so the adoption itself was interrupted.
  const adopted = cover.head !== null && cover.head.upto === upto + 1 ? cover.head : null
  if (cover.head !== null && (adopted === null || upto === 0)) {
    throw noWayDown(`line ${cover.head.upto + 1} is a signed head`, file)
  }
  if (upto === 0) throw new GateError('damaged', 'there is no line to adopt', { file })
  if (!isInterruptedAdoption(cover.unfinished)) {
    throw noWayDown(`lines of version 2 stand behind line ${upto}`, file)
  }
  if (second !== null && second.seq > upto) {
    const found = `line ${upto} as the last`
    const location = { file, expected: `line ${second.seq}, which the second head knows`, found }
    throw new GateError('behind', 'lines are missing at the end', location)
  }
  const secondHead = second === null ? 'missing' : 'holds'
  const found = { upto, hash, lines, capsules, unsigned, orphans: [...open], secondHead } as const
  return { ...tail, found, sealed: last.type === SEAL_TYPE, adopted }
}

/** A torn line of version 1, or what an adoption left that did not reach its head. */
function isInterruptedAdoption(octets: Buffer): boolean {
  const types = octets.toString('latin1').matchAll(/"at":"[^"]{24}","type":"([A-Z_]+)"/g)
  return [...types].every(([, type]) => type === 'ADOPTED' || type === 'HEAD')
}

async function writeAdopted(
  { dir, origin, signer, clock }: AdoptOptions,
  { number, cover, found, sealed }: Examination,
): Promise<SignedHead> {
  if (cover.unfinished.length > 0) await cutUnfinished(dir, number, cover, () => undefined)
  const { upto, hash, lines, capsules, orphans } = found
  const unsigned = found.unsigned.map(({ seq }) => seq)
  const members = { upto, hash, lines, capsules, unsigned, orphans }
  const signed = signEvent({ ...headSigner(origin, signer), type: 'ADOPTED', members })
  const at = createStamp(clock, cover.cursor.at)()
  const compose = createComposer(origin, signer)
  const nothing = { lines: 0, capsules: 0 }
  const batch = compose.batch([{ ...signed, listed: null }], cover.cursor, nothing, at)
  const file = segmentPath(dir, sealed && cover.lines > 0 ? number + 1 : number)
  await withFile(file, 'a', async (handle) => {
    await handle.write(batch.buffer, 1, batch.length)
    await handle.sync()
  })
  syncFolder(dir)
  return batch.end.head
}

async function writeSecond({ headFile }: AdoptOptions, head: SignedHead): Promise<void> {
  if (headFile === null) return
  const failures: string[] = []
  const writer = await openHeadWriter(headFile, (why) => failures.push(why))
  // Into both slots: an empty one beside it would look like one that was wiped.
  writer.push(head)
  await writer.settled()
  writer.push(head)
  await writer.close()
  const [why] = failures
  if (why === undefined) return
  const message = `adopted, but the second head cannot be written: ${why}. Make room there and adopt again`
  throw new GateError('head_file', message, { file: headFile })
}
