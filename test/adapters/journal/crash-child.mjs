/**
 * A writer that is killed: SIGKILL at the named seam's n-th visit. Every acknowledged line is told to
 * the parent before the next is appended, so that the parent knows what may not be lost.
 */
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { writeSync } from 'node:fs'
import { openJournal } from '../../../dist/adapters/journal/open.js'

const { dir, headFile, seam, visit, segmentBytes, privatePem } = JSON.parse(process.argv[2])
const privateKey = createPrivateKey(privatePem)
const raw = createPublicKey(privateKey).export({ format: 'der', type: 'spki' }).subarray(-32)
const kid = createHash('sha256').update(raw).digest()
const keys = [
  {
    kid: kid.toString('hex'),
    alg: -8,
    public_key: raw.toString('hex'),
    purpose: 'event',
    status: 'active',
  },
]
let visits = 0
const die = () => {
  visits++
  if (visits === visit) process.kill(process.pid, 'SIGKILL')
}
const journal = await openJournal({
  dir,
  headFile,
  origin: 'gate-1',
  signer: { kid: () => kid, sign: (_, message) => sign(null, message, privateKey) },
  keys,
  clock: Date,
  segmentBytes,
  reserveBytes: 4096,
  seams: { [seam]: die },
})
for (let n = 1; n <= 40; n++) {
  const [line] = await journal.append([
    { type: 'ACTION_DISPATCHED', json: JSON.stringify({ action_id: `act-${n}`, n }) },
  ])
  writeSync(1, `${JSON.stringify({ n, hash: line.hash, seq: line.seq })}\n`)
  if (n % 10 === 0) await journal.writeSnapshot({ n })
}
await journal.close()
