import {
  type FileChange,
  type FileNode,
  type FolderNode,
  type Keep,
  renamed,
  written,
} from './inodes.js'
import type { Random } from './random.js'

/**
 * What a power loss leaves beside that which was synced, drawn from a seed:
 *
 * - each write that no sync confirmed is there, is missing, or is torn at a 512-octet sector: the part before or
 *   behind the tear is there, the other has the older content, or zeros where the file was shorter;
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

function someOf({ safe, pending, size }: FileNode, random: Random): Buffer {
  const content = written(
    safe,
    pending.flatMap((change) =>
      random.chance(0.3) ? [change] : random.chance(0.5) ? [] : torn(change, random),
    ),
  )
  // The size is the file system's, the octets are the disk's: one may be there without the other.
  return content.length < size && random.chance(0.3)
    ? written(content, [{ kind: 'size', size }])
    : content
}

function torn(change: FileChange, random: Random): readonly FileChange[] {
  if (change.kind === 'size') return random.chance(0.5) ? [change] : []
  const { at, octets } = change
  const first = SECTOR - (at % SECTOR)
  if (first >= octets.length) return random.chance(0.5) ? [change] : []
  const tear = first + SECTOR * random.below(Math.ceil((octets.length - first) / SECTOR))
  return random.chance(0.5)
    ? [{ kind: 'write', at, octets: octets.subarray(0, tear) }]
    : [{ kind: 'write', at: at + tear, octets: octets.subarray(tear) }]
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
