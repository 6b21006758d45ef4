import { createErasures, type Erasure } from '../../core/journal/erasures.js'
import { type EvidenceDigest, evidenceDigestsOf } from '../../core/journal/evidence-digests.js'
import { type JournalLine, readLine } from '../../core/journal/vocabulary.js'
import type { InIndex } from '../../ports/evidence.js'
import type { Parts } from '../context.js'
import type { Check } from '../operate/checks.js'

/** What is compared, and when to pause for calls. */
export type Backlog = {
  /** All lines that are here, from the oldest segment that was not archived. */
  lines(): AsyncIterable<JournalLine>
  /** Null: go on. A promise: wait for it first. */
  rest(): Promise<void> | null
}
export type EvidenceWatch = {
  check(): Check
  /** Digests that must have evidence and have none, or none that can be read. */
  absent(): { readonly missing: number; readonly damaged: number }
  /** The line that erased a key of the store; undefined while the journal is still being read. */
  erasure(key: string): Erasure | null | undefined
  stop(): Promise<void>
}
type Due = EvidenceDigest & { readonly seq: number }

const NAME = 'evidence_records'
const AT_ONCE = 256

/**
 * In the background, once after each start: every digest of the journal that must have evidence is looked up
 * in the index of the store (no record is read). What is missing or damaged turns readiness off and is
 * reported; the gate goes on judging, because refusing calls would restore nothing.
 */
export function watchEvidence(parts: Parts, { lines, rest }: Backlog): EvidenceWatch {
  const { journal, evidence, report } = parts
  const erasures = createErasures()
  const unsubscribe = parts.subscribe(erasures.add)
  const last = journal.head().seq
  const counts = { missing: 0, damaged: 0 }
  /** Digests under destroyed keys, by key: the line that erased a key comes later than they do. */
  const erased = new Map<string, { readonly first: Due; digests: number }>()
  let first: string | null = null
  let failed: string | null = null
  let isDone = false
  let stopped = false

  function absent(state: 'missing' | 'damaged', due: Due, why: string, digests = 1): void {
    const { seq, member, digest } = due
    const detail = `line ${seq}, ${member}: the evidence ${digest} is ${state}${why}`
    first ??= detail
    // Reported once for each kind; the others are counted, and `ledger verify --evidence` lists them.
    if (counts[state] === 0) report({ level: 'error', event: `evidence_${state}`, detail })
    counts[state] += digests
  }

  function judge(due: Due, found: InIndex): void {
    switch (found.state) {
      case 'present':
        break
      case 'missing':
        absent('missing', due, '')
        break
      case 'damaged':
        absent('damaged', due, `: ${found.detail}`)
        break
      case 'erased': {
        const known = erased.get(found.key)
        if (known === undefined) erased.set(found.key, { first: due, digests: 1 })
        else known.digests++
        break
      }
    }
  }

  async function compare(dues: readonly Due[]): Promise<void> {
    const states = await evidence.inIndex(dues.map(({ digest }) => digest))
    for (const [i, due] of dues.entries()) judge(due, states[i] ?? { state: 'missing' })
  }

  async function run(): Promise<void> {
    let dues: Due[] = []
    for await (const raw of lines()) {
      if (stopped || raw.seq > last) break
      const line = readLine(raw)
      if (line !== null) {
        erasures.add(line)
        for (const named of evidenceDigestsOf(line)) dues.push({ seq: line.seq, ...named })
      }
      if (dues.length >= AT_ONCE) {
        await compare(dues)
        dues = []
      }
      const resting = rest()
      if (resting !== null) await resting
    }
    if (stopped) return
    await compare(dues)
    for (const [key, { first: due, digests }] of erased) {
      if (erasures.of(key) !== null) continue
      absent('missing', due, ': its key was destroyed and no line says so', digests)
    }
    isDone = true
    const { missing, damaged } = counts
    if (missing + damaged === 0) return
    const way = 'capsule-gate ledger verify --evidence lists them; restore the evidence folder'
    const detail = `${missing} missing, ${damaged} damaged; ${way}`
    report({ level: 'error', event: 'evidence_incomplete', detail })
  }

  const running = run().catch((error: unknown) => {
    if (stopped) return
    failed = `not compared: ${error instanceof Error ? error.message : String(error)}`
    report({ level: 'error', event: 'evidence_not_compared', detail: failed })
  })

  return {
    check() {
      const { missing, damaged } = counts
      if (failed !== null) return { name: NAME, ok: false, detail: failed }
      if (first === null) return { name: NAME, ok: true, detail: isDone ? null : 'under way' }
      const detail = `${missing} missing, ${damaged} damaged; first: ${first}`
      return { name: NAME, ok: false, detail }
    },
    absent: () => ({ ...counts }),
    erasure: (key) => erasures.of(key) ?? (isDone ? null : undefined),
    async stop() {
      stopped = true
      unsubscribe()
      await running
    },
  }
}
