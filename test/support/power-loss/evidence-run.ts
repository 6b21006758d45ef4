import { join } from 'node:path'
import { type OpenedEvidence, openEvidence } from '../../../src/adapters/evidence/open.js'
import type { Seams } from '../../../src/adapters/evidence/seams.js'
import { digestOf, recordOf, sha256 } from '../../contract/evidence.js'
import { everySeam, type Run } from './cases.js'
import { type Plan, untilPowerLoss } from './scenario.js'

/** What the store was told to do, in order, and when it confirmed it. */
type Step =
  | { readonly did: 'put'; readonly i: number; readonly subject: string }
  | { readonly did: 'ordered' | 'erased'; readonly subject: string }
  | { readonly did: 'published'; readonly digest: string }
const ROUNDS = 10
const SUBJECTS = ['ann', 'ben', 'cyd', 'dan']

const open = (root: string, seams: Seams = {}): Promise<OpenedEvidence> =>
  openEvidence({
    dir: join(root, 'evidence'),
    masterKey: new Uint8Array(32).fill(7),
    segmentBytes: 1200,
    reserveBytes: 4096,
    seams,
  })
const record = (i: number, subject: string, pad: number) =>
  recordOf(
    `a${i}`,
    [
      {
        digest: digestOf({ i, pad: 'x'.repeat(pad) }),
        kind: 'reason',
        value: { i, pad: 'x'.repeat(pad) },
      },
    ],
    { subject },
  )

/** A store with small segments: records of some subjects at once, erasures, documents; then all of it is asked for. */
export async function evidenceRun(run: Run, plan: Plan): Promise<readonly string[]> {
  const { random } = run
  const steps: Step[] = []
  const digests = new Map<number, string>()
  let last = 0
  const left = await untilPowerLoss(run, plan, async (disk, hit) => {
    const evidence = await open(disk.root, everySeam(hit))
    const noted = (step: Step): void => {
      if (!disk.isCut()) steps.push(step)
    }
    const put = async (): Promise<void> => {
      const i = ++last
      const subject = random.pick(SUBJECTS)
      const one = record(i, subject, random.below(900))
      digests.set(i, one.parts[0]?.digest ?? '')
      await evidence.put(one, { urgent: random.chance(0.3) })
      noted({ did: 'put', i, subject })
    }
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const ends = await Promise.allSettled(Array.from({ length: 1 + random.below(4) }, put))
        const failed = ends.find((end) => end.status === 'rejected')
        if (failed !== undefined) throw failed.reason
        if (random.chance(0.3)) {
          const subject = random.pick(SUBJECTS)
          steps.push({ did: 'ordered', subject })
          await evidence.erase({ subject })
          noted({ did: 'erased', subject })
        }
        if (random.chance(0.3)) {
          const document = Buffer.from(JSON.stringify({ document: random.below(5) }))
          const digest = sha256(document).toString('hex')
          await evidence.putPublic(digest, document)
          noted({ did: 'published', digest })
        }
      }
    } finally {
      await evidence.close()
    }
  })

  const wrong: string[] = []
  const evidence = await open(left.root)
  for (const [at, step] of steps.entries()) {
    if (step.did === 'published' && (await evidence.getPublic(step.digest)) === null) {
      wrong.push(`document ${step.digest} is lost`)
    }
    if (step.did !== 'put') continue
    const { i, subject } = step
    const later = steps.slice(at).filter((one) => 'subject' in one && one.subject === subject)
    const isErased = later.some(({ did }) => did === 'erased')
    const isOrdered = later.some(({ did }) => did === 'ordered')
    const possible = isErased ? ['erased'] : isOrdered ? ['present', 'erased'] : ['present']
    for (const found of [
      await evidence.byAction(`a${i}`),
      await evidence.byDigest(digests.get(i) ?? ''),
    ]) {
      if (possible.includes(found.state)) continue
      wrong.push(`record ${i} of ${subject} is ${found.state}, not ${possible.join(' or ')}`)
    }
  }
  for (const subject of SUBJECTS) await evidence.put(record(++last, subject, 10))
  if (!evidence.health().ok) wrong.push(`not healthy: ${evidence.health().reason}`)
  await evidence.close()
  const again = await open(left.root)
  const newest = await again.byAction(`a${last}`)
  if (newest.state !== 'present') wrong.push(`a record after the start is ${newest.state}`)
  await again.close()
  return wrong
}
