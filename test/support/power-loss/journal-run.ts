import { join } from 'node:path'
import type { JournalReport, OpenedJournal, Seams } from '../../../src/adapters/journal/model.js'
import { openJournal } from '../../../src/adapters/journal/open.js'
import {
  allLines,
  checkChain,
  checkHeads,
  KEYS,
  note,
  rawLines,
} from '../../adapters/journal/harness.js'
import { everySeam, type Run } from './cases.js'
import { type Plan, untilPowerLoss } from './scenario.js'

type Acknowledged = { readonly n: number; readonly seq: number; readonly hash: string }
const ROUNDS = 14
const idOf = (n: number): string => `act-${n}`

const open = (
  root: string,
  seams: Seams = {},
  reports: JournalReport[] = [],
): Promise<OpenedJournal> =>
  openJournal({
    dir: join(root, 'journal'),
    headFile: join(root, 'head'),
    origin: 'gate-1',
    signer: KEYS.signer,
    keys: KEYS.records,
    clock: { now: () => Date.now() },
    segmentBytes: 3000,
    reserveBytes: 64 * 1024,
    seams,
    report: (report) => reports.push(report),
  })

/** A journal with small segments: calls at once, of all sizes, and snapshots; then what was acknowledged is asked for. */
export async function journalRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const { random } = run
  const acknowledged: Acknowledged[] = []
  let last = 0
  const left = await untilPowerLoss(run, plan, async (disk, hit) => {
    const journal = await open(disk.root, everySeam(hit))
    const append = async (): Promise<void> => {
      const numbers = Array.from({ length: 1 + random.below(3) }, () => ++last)
      const lines = await journal.append(
        numbers.map((n) => ({
          type: 'ACTION_DISPATCHED',
          json: JSON.stringify({ action_id: idOf(n), n, pad: 'x'.repeat(random.below(900)) }),
        })),
        { urgent: random.chance(0.3) },
      )
      if (disk.isCut()) return
      lines.forEach(({ seq, hash }, i) => {
        acknowledged.push({ n: numbers[i] as number, seq, hash })
      })
    }
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const ends = await Promise.allSettled(Array.from({ length: 1 + random.below(4) }, append))
        const failed = ends.find((end) => end.status === 'rejected')
        if (failed !== undefined) throw failed.reason
        if (random.chance(0.3)) await journal.writeSnapshot({ n: last })
      }
    } finally {
      await journal.close()
    }
  })

  const wrong: string[] = []
  const reports: JournalReport[] = []
  const journal = await open(left.root, {}, reports)
  const lines = new Map((await allLines(journal)).map((line) => [line.seq, line]))
  for (const { n, seq, hash } of acknowledged) {
    const found = await journal.find(idOf(n))
    if (found.length !== 1 || found[0]?.seq !== seq) wrong.push(`line ${seq} (${n}) is lost`)
    const next = lines.get(seq + 1)
    if (next !== undefined && next.prev !== hash) wrong.push(`line ${seq} is another one`)
  }
  const numbers = [...lines.values()].flatMap(({ n }) => (typeof n === 'number' ? [n] : []))
  if (new Set(numbers).size !== numbers.length) wrong.push('a line stands there twice')
  if (numbers.some((n) => n > last)) wrong.push('a line was invented')
  await journal.append([note(0)])
  const { damage } = await journal.verified
  if (damage !== null) wrong.push(`damage: ${damage}`)
  await journal.close()
  const bad = ['poisoned', 'damaged', 'suspended', 'head_file_missing']
  for (const report of reports) if (bad.includes(report.kind)) wrong.push(JSON.stringify(report))
  const raw = await rawLines(join(left.root, 'journal'))
  checkChain(raw)
  checkHeads(raw)
  const again = await open(left.root)
  if (!again.health().ok) wrong.push(`not healthy: ${again.health().reason}`)
  await again.close()
  return wrong
}
