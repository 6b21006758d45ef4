/**
 * Crash points inside the stores, for the thread they are written from: the process that set
 * KILL_SEAM and KILL_HITS ends, without a chance to tidy up, when that point is passed so many times.
 */
import { writeSync } from 'node:fs'

const { KILL_SEAM, KILL_HITS } = process.env
let left = Number(KILL_HITS)
const hit = (name) => {
  if (name !== KILL_SEAM || --left > 0) return
  // The report is written before the end, so that the parent can count it.
  writeSync(1, `killed at ${name}\n`)
  process.kill(process.pid, 'SIGKILL')
  // The signal is on its way: nothing may happen between it and the end.
  for (;;);
}
/** Whatever point a store asks for: the name decides. */
const everyPoint = new Proxy({}, { get: (_, name) => () => hit(name) })

export { everyPoint as evidenceSeams, everyPoint as journalSeams }
