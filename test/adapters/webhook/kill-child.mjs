import { generateKeyPairSync, sign } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { startOutbox } from '../../../dist/adapters/webhook/outbox.js'

/** An outbox over the lines of a file; ends itself without warning at the nth pass of a seam. */
const { folder, url, linesFile, seam, nth } = JSON.parse(process.argv[2])
const lines = JSON.parse(readFileSync(linesFile, 'utf8'))
const { privateKey } = generateKeyPairSync('ed25519')
let passes = 0
let outbox = null

const finish = async () => {
  if (outbox === null || outbox.stats()[0].pending > 0) return
  await outbox.close()
  process.exit(0)
}
outbox = await startOutbox({
  folder,
  endpoints: [
    {
      name: 'chat',
      url,
      events: ['approval.requested', 'approval.decided', 'verdict.denied'],
      secrets: () => [],
      allowPrivate: true,
    },
  ],
  origin: 'gate-1',
  present: async () => ({ cursor: 0, context: { approvals: new Map(), judges: null } }),
  lines: async function* (from) {
    yield* lines.filter((line) => line.seq >= from)
  },
  subscribe: () => () => undefined,
  signer: { kid: () => new Uint8Array(32), sign: (_, message) => sign(null, message, privateKey) },
  clock: Date,
  timer: {
    after(ms, run) {
      const timeout = setTimeout(run, ms)
      return () => clearTimeout(timeout)
    },
  },
  random: Math.random,
  resolve: async () => [],
  link: () => null,
  report: ({ kind }) => {
    if (kind === 'delivered') setImmediate(finish)
  },
  seam(name) {
    if (name === seam && ++passes === nth) process.kill(process.pid, 'SIGKILL')
  },
})
await finish()
