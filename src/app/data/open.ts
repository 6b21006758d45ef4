import { join } from 'node:path'
import { nodeCrypto } from '../../adapters/crypto-node.js'
import { existsSync } from '../../adapters/disk/files.js'
import { makeFolder } from '../../adapters/disk/folder.js'
import type { JournalReport } from '../../adapters/journal/model.js'
import { createKeys } from '../../adapters/keys/create.js'
import { exportKeyring, keyringPath } from '../../adapters/keys/keyring.js'
import { openSigner } from '../../adapters/keys/signer.js'
import { createEmbeddedState, type EmbeddedState } from '../../adapters/state/embedded/state.js'
import { hex } from '../../core/bytes/hex.js'
import { utf8 } from '../../core/bytes/text.js'
import { lineOf } from '../../core/journal/entry.js'
import { type Line, type LineOf, lineError, readLine } from '../../core/journal/vocabulary.js'
import type { PublicKeyRecord } from '../../core/statement/keys.js'
import type { Clock } from '../../ports/clock.js'
import type { IndexedLine, Journal, JournalLine } from '../../ports/journal.js'
import type { Signer } from '../../ports/signer.js'
import type { TenantKeys } from '../../ports/tenant.js'
import type { HeadTeller } from '../telemetry/tell-heads.js'
import { tenantKeys } from '../tenant/keys.js'
import { decryptedDump, encryptedDump } from '../tenant/snapshot.js'
import { openWriterThread } from '../writer-thread/open.js'
import {
  openStores,
  type StoreOptions,
  type StoreSeams,
  type Stores,
} from '../writer-thread/stores.js'
import { ownSecret } from './secrets.js'

/** Everything of a gate that outlives the process, opened and folded. */
export type Data = {
  readonly signer: Signer
  readonly keys: () => readonly PublicKeyRecord[]
  readonly journal: Journal & Pick<Stores['journal'], 'snapshot' | 'writeSnapshot' | 'verified'>
  readonly evidence: Stores['evidence']
  readonly state: EmbeddedState
  readonly tenant: TenantKeys
  /** Each durable line in journal order, after the state has it. */
  subscribe(listener: (line: Line) => void): () => void
  close(): Promise<void>
}

export type DataOptions = {
  readonly dir: string
  /** Told of each durable batch: its head, and the types of the lines appended by one call. */
  readonly covered?: HeadTeller['covered']
  readonly headFile: string | null
  /** Starts a journal that has lines but no second head any more. */
  readonly acceptMissingHead?: boolean
  readonly segmentBytes: number
  /** So many lines after the last snapshot a new one is written; boot folds at most about as many. */
  readonly snapshotEvery: number
  readonly idempotencyTtlSeconds: number
  /** Idempotency keys that are remembered of one agent at once. */
  readonly agentKeys?: number
  readonly sessionIdleSeconds?: number
  readonly clock: Clock
  /** Kept apart from the data folder where the operator says so; made at first start. */
  readonly masterKeyFile?: string
  readonly report: (event: JournalReport) => void
  /**
   * Where the stores are written from: a thread of their own, which may import a module with crash
   * points, or this one, which may be given them.
   */
  readonly recorder?: Recorder
}
export type Recorder =
  | { readonly in: 'thread'; readonly seams?: string }
  | ({ readonly in: 'this_thread' } & StoreSeams)

export async function openData(options: DataOptions): Promise<Data> {
  const { dir } = options
  const folder = (name: string): string => join(dir, name)
  for (const name of ['keys', 'journal', 'evidence']) makeFolder(folder(name))
  if (!existsSync(keyringPath(folder('keys')))) await createKeys(folder('keys'))
  const signer = openSigner(folder('keys'))
  const keys = (): readonly PublicKeyRecord[] => exportKeyring(folder('keys')).keys
  const secret = tenantSecret(folder('keys'))
  const tenant = tenantKeys(secret)
  const masterKey = ownSecret(options.masterKeyFile ?? join(folder('keys'), 'evidence.key'), 32)

  const { journal: inner, evidence } = await openBoth(options, {
    journalDir: folder('journal'),
    evidenceDir: folder('evidence'),
    keysDir: folder('keys'),
    origin: originOf(secret),
    masterKey,
    headFile: options.headFile,
    acceptMissingHead: options.acceptMissingHead ?? false,
    segmentBytes: options.segmentBytes,
  })
  const state = createEmbeddedState({
    tenant,
    keyTtlSeconds: options.idempotencyTtlSeconds,
    ...(options.agentKeys === undefined ? {} : { keysPerAgent: options.agentKeys }),
    ...(options.sessionIdleSeconds === undefined
      ? {}
      : { sessionIdleSeconds: options.sessionIdleSeconds }),
  })
  await closingOnFailure({ close: () => closeAll(inner, evidence) }, () =>
    fold(inner, state, tenant, options.report),
  )
  const { journal, subscribe } = feeding(inner, state, tenant, options)
  return {
    signer,
    keys,
    journal,
    evidence,
    state,
    tenant,
    subscribe,
    close: () => closeAll(inner, evidence),
  }
}

function openBoth(
  { clock, report, recorder = { in: 'thread' } }: DataOptions,
  stores: StoreOptions,
): Promise<Stores> {
  return recorder.in === 'thread'
    ? openWriterThread(stores, clock, report, recorder.seams ?? null)
    : openStores(stores, clock, report, recorder)
}

async function closeAll(...opened: { close(): Promise<void> }[]): Promise<void> {
  for (const each of opened) await each.close()
}

/** A start that fails half-way holds no lock afterwards. */
async function closingOnFailure<T>(
  opened: { close(): Promise<void> },
  next: () => Promise<T>,
): Promise<T> {
  try {
    return await next()
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** State is what the lines say: from the snapshot, or from the first line (DESIGN §5). */
async function fold(
  { snapshot, lines, head }: Stores['journal'],
  state: EmbeddedState,
  tenant: TenantKeys,
  report: DataOptions['report'],
): Promise<void> {
  const why = snapshot === null ? null : state.load(decryptedDump(snapshot.state, tenant))
  if (why !== null) report({ kind: 'snapshot_ignored', why })
  const from = snapshot === null || why !== null ? 1 : snapshot.seq + 1
  const end = head().seq
  // A clean stop leaves a snapshot of the last line; without it there was none, or an older one was put back.
  if (why === null && from <= end) report({ kind: 'snapshot_behind', seq: from - 1, end })
  for await (const raw of lines(from)) {
    const line = readLine(raw)
    if (line !== null) state.apply(line)
  }
}

/** The running gate's lines go through the same fold as a restart's: in order, once, after they are durable. */
function feeding(
  inner: Stores['journal'],
  state: EmbeddedState,
  tenant: TenantKeys,
  { snapshotEvery, covered: told }: Pick<DataOptions, 'snapshotEvery' | 'covered'>,
): Pick<Data, 'journal' | 'subscribe'> {
  const listeners = new Set<(line: Line) => void>()
  let applied = inner.head().seq
  let covered = { upto: applied, head: inner.head() }
  let sinceSnapshot = applied - (inner.snapshot?.seq ?? 0)
  // What the dump stands on is the head whose lines the state has folded, never a line behind it.
  const writeSnapshot: Data['journal']['writeSnapshot'] = async (dump, head) => {
    if (head === undefined && covered.upto !== applied)
      throw new Error('a batch is still being folded')
    await inner.writeSnapshot(encryptedDump(dump, tenant), head ?? covered.head)
  }
  const append: Journal['append'] = (entries, options) =>
    inner.append(entries, options).then((lines) => {
      entries.forEach((entry, index) => {
        const appended = lines[index]
        if (appended === undefined) throw new Error(`the journal appended no ${entry.type} line`)
        const { seq, prev, at, sealed } = appended
        if (seq <= applied) throw new Error(`journal line ${seq} came after ${applied}`)
        const { origin } = inner
        const line = lineOf(entry, { v: 2, origin, seq, prev, at }, sealed)
        state.apply(line)
        applied = seq
        for (const listener of listeners) listener(line)
      })
      sinceSnapshot += lines.length
      const head = lines.at(-1)?.head
      if (head !== undefined)
        told?.(
          head.signed,
          entries.map(({ type }) => type),
        )
      // A snapshot stands on a head: it waits until all lines that the head covers are folded.
      if (head?.signed.upto === applied) covered = { upto: applied, head }
      if (sinceSnapshot >= snapshotEvery && covered.upto === applied) {
        sinceSnapshot = 0
        // A failed snapshot is reported by the journal and costs the next boot time, nothing else.
        writeSnapshot(state.dump()).catch(() => undefined)
      }
      return lines
    })
  return {
    journal: {
      ...inner,
      append,
      writeSnapshot,
      find: async (id, wanted) => (await inner.find(id, wanted)).map(indexedLine),
      async list(filter, page) {
        const { entries, next } = await inner.list(filter, page)
        return {
          entries: entries.map(({ line, ...at }) => ({ ...at, line: capsuleLine(line) })),
          next,
        }
      },
      close: () => inner.close(),
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}

function capsuleLine(raw: JournalLine): LineOf<'CAPSULE'> {
  const line = readLine(raw)
  if (line?.type === 'CAPSULE') return line
  throw lineError(raw, 'only capsules are listed')
}

function indexedLine(raw: JournalLine): IndexedLine {
  const line = readLine(raw)
  if (line?.type === 'CAPSULE' || line?.type === 'ACTION_DISPATCHED') return line
  throw lineError(raw, 'lines of this type are not indexed')
}

/** A name of its own for every data folder: lines and capsules of two gates never mix. */
const originOf = (secret: Uint8Array): string =>
  `gate-${hex(nodeCrypto.sha256(utf8(hex(secret)))).slice(0, 16)}`

export const journalOrigin = (keysDir: string): string => originOf(tenantSecret(keysDir))

const tenantSecret = (keysDir: string): Uint8Array => ownSecret(join(keysDir, 'tenant.salt'), 32)
