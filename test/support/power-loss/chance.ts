import { type FileNode, type FolderNode, type Keep, renamed, written } from './inodes.js'
import type { Random } from './random.js'

/**
 * What a power loss leaves beside that which was synced, drawn from a seed:
 *
 * - each write that no sync confirmed is there, is missing, or is torn at a 512-octet sector: the part before or
 *   behind the tear is there, the other has the older content, or zeros where the file was shorter. A page of 4096
 *   octets goes to the disk as one, so it has one tear at most;
 * - a file that grew may have its new size and zeros in place of what was not written; a cut may be undone;
 * - names of different folders, and names and contents, are independent of each other: a new name may stand for a
 *   file without its content, and a synced file may have no name;
 * - in one folder, either a prefix of the changes of names is there (a file system with one journal), or any of them
 *   as long as changes of the same name keep their order (one with a log per file). A rename is whole or not at all.
 */
export function byChance(random: Random): Keep {
  const style = random.pick(['nothing', 'everything', 'some', 'some', 'some', 'some'] as const)
  return {
    file(file) {
      if (style === 'nothing') return file.safe
      if (style === 'everything') return written(file.safe, file.pending)
      return someOf(file, random)
    },
    names(folder) {
      if (style === 'nothing') return folder.safe
      if (style === 'everything') return folder.now
      return renamed(
        folder.safe,
        random.chance(0.5) ? prefix(folder, random) : ordered(folder, random),
      )
    },
  }
}

const SECTOR = 512
const PAGE = 4096

function someOf({ safe, pending, size }: FileNode, random: Random): Buffer {
  const tornPages = new Set<number>()
  const content = written(
    safe,
    pending.flatMap((change) => {
      if (change.kind === 'size' || random.chance(0.5)) return random.chance(0.6) ? [change] : []
      const { at, octets } = change
      const first = SECTOR - (at % SECTOR)
      const tear = first + SECTOR * random.below(Math.ceil((octets.length - first) / SECTOR))
      const page = Math.floor((at + tear) / PAGE)
      if (first >= octets.length || tornPages.has(page)) return random.chance(0.5) ? [change] : []
      tornPages.add(page)
      return random.chance(0.5)
        ? [{ ...change, octets: octets.subarray(0, tear) }]
        : [{ ...change, at: at + tear, octets: octets.subarray(tear) }]
    }),
  )
  // The size is the file system's, the octets are the disk's: one may be there without the other.
  return content.length < size && random.chance(0.3)
    ? written(content, [{ kind: 'size', size }])
    : content
}

const prefix = ({ pending }: FolderNode, random: Random): FolderNode['pending'] =>
  pending.slice(0, random.below(pending.length + 1))

function ordered({ pending }: FolderNode, random: Random): FolderNode['pending'] {
  const lost = new Set<string>()
  return pending.filter((change) => {
    const names = [...change.keys()]
    if (!names.some((name) => lost.has(name)) && random.chance(0.5)) return true
    for (const name of names) lost.add(name)
    return false
  })
}
