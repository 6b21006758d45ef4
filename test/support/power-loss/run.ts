import { openDisk } from './disk.js'
import type { Image } from './inodes.js'
import { octetsOf, traceScript } from './strace.js'

/** What a script had told by some moment, and what of its folder no power loss could take at that moment. */
export type Moment = {
  readonly said: readonly string[]
  readonly image: Image
}

/**
 * Runs a script that appends what it tells to the files `*.log` in a folder. There is a moment for each
 * state of the disk: what was told last before a sync ended, or just before that was told.
 */
export function momentsOf(root: string, args: readonly string[]): readonly Moment[] {
  const disk = openDisk(root)
  const { stdout, stderr, calls } = traceScript(args)
  if (!stdout.endsWith('finished\n')) throw new Error(`the script did not finish: ${stderr}`)
  const logs = new Map<number, string>()
  const moments: Moment[] = []
  const said: string[] = []
  const look = (): void => {
    const moment = { said: [...said], image: disk.safe() }
    // The same disk: what is told later includes what was told before.
    const last = moments.at(-1)
    if (last !== undefined && isSame(last.image, moment.image)) moments.pop()
    moments.push(moment)
  }
  for (const call of calls) {
    const { name, args: given, phase, result } = call
    const fd = Number(given[0])
    const log = logs.get(fd)
    disk.apply(call)
    if (phase === 'begun' && name === 'write' && log !== undefined) {
      said.push(
        `${log} ${octetsOf(given[1] ?? '')
          .toString('utf8')
          .trim()}`,
      )
      look()
    } else if (phase === 'begun' && name === 'close') logs.delete(fd)
    else if (phase === 'ended' && (name === 'fsync' || name === 'fdatasync')) look()
    else if (phase === 'ended' && name === 'openat') {
      const path = octetsOf(given[1] ?? '').toString('utf8')
      const below = path.startsWith(root) && path.endsWith('.log')
      if (below) logs.set(result, path.slice(root.length + 1, -'.log'.length))
    }
  }
  return moments
}

const isSame = (a: Image, b: Image): boolean =>
  a.size === b.size && [...a].every(([path, octets]) => b.get(path) === octets)
