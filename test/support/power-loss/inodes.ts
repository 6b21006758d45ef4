import { mkdirSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Files and folders as a disk has them: what a sync made safe, and the changes since, oldest first. A sync makes safe
 * what had changed when it began, once it has ended. A file's sync says nothing of its name: that is its folder's.
 */
type Changing<State, Change> = {
  safe: State
  pending: readonly Change[]
  /** How many changes were made safe before those that are pending. */
  synced: number
}
export type FileNode = Changing<Buffer, FileChange> & { readonly kind: 'file'; size: number }
export type FolderNode = Changing<Names, NameChange> & { readonly kind: 'folder'; now: Names }
export type Node = FileNode | FolderNode
type Names = ReadonlyMap<string, Node>

export type FileChange =
  | { readonly kind: 'write'; readonly at: number; readonly octets: Buffer }
  | { readonly kind: 'size'; readonly size: number }
/** Names that change together, as in a rename; null takes a name away. */
export type NameChange = ReadonlyMap<string, Node | null>

/** Octets by path below the root; null for a folder. */
export type Image = ReadonlyMap<string, Buffer | null>
/** Which of the changes that no sync confirmed are on the disk all the same. */
export type Keep = {
  file(file: FileNode): Buffer
  names(folder: FolderNode): Names
}

export const newFile = (safe: Buffer = Buffer.alloc(0)): FileNode => ({
  kind: 'file',
  size: safe.length,
  ...{ safe, pending: [], synced: 0 },
})
export const newFolder = (safe: Names = new Map()): FolderNode => ({
  kind: 'folder',
  now: safe,
  ...{ safe, pending: [], synced: 0 },
})

/** What was there before is taken to be safe. */
export function existing(path: string): FolderNode {
  const names = new Map<string, Node>()
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    names.set(entry.name, entry.isDirectory() ? existing(below) : newFile(readFileSync(below)))
  }
  return newFolder(names)
}

export function changeFile(file: FileNode, change: FileChange): void {
  const end = change.kind === 'size' ? change.size : change.at + change.octets.length
  file.size = change.kind === 'size' ? end : Math.max(file.size, end)
  file.pending = [...file.pending, change]
}

export function changeNames(folder: FolderNode, change: NameChange): void {
  folder.now = renamed(folder.now, [change])
  folder.pending = [...folder.pending, change]
}

/** A sync that begins now; to be called when it ends. An older one that ends later takes nothing back. */
export function syncing(node: Node): () => void {
  const upto = node.synced + node.pending.length
  return () => {
    const count = upto - node.synced
    if (count <= 0) return
    if (node.kind === 'file') node.safe = written(node.safe, node.pending.slice(0, count))
    else node.safe = renamed(node.safe, node.pending.slice(0, count))
    node.pending = node.pending.slice(count)
    node.synced = upto
  }
}

/** Contents are never changed in place: a reader may keep what it was given. */
export function written(content: Buffer, changes: readonly FileChange[]): Buffer {
  const ends = changes.map((one) => (one.kind === 'size' ? one.size : one.at + one.octets.length))
  const room = Buffer.alloc(Math.max(content.length, ...ends))
  content.copy(room)
  let size = content.length
  for (const change of changes) {
    if (change.kind === 'write') {
      change.octets.copy(room, change.at)
      size = Math.max(size, change.at + change.octets.length)
    } else {
      if (change.size < size) room.fill(0, change.size, size)
      size = change.size
    }
  }
  return room.subarray(0, size)
}

export function renamed(names: Names, changes: readonly NameChange[]): Names {
  const now = new Map(names)
  for (const [name, node] of changes.flatMap((change) => [...change])) {
    if (node === null) now.delete(name)
    else now.set(name, node)
  }
  return now
}

export function nodeAt(top: FolderNode, steps: readonly string[]): Node | undefined {
  let at: Node | undefined = top
  for (const step of steps) at = at?.kind === 'folder' ? at.now.get(step) : undefined
  return at
}

/** Nothing but what was synced. */
export const AT_WORST: Keep = { file: ({ safe }) => safe, names: ({ safe }) => safe }

export function imageOf(top: FolderNode, keep: Keep): Image {
  const image = new Map<string, Buffer | null>()
  const walk = (node: Node, path: string): void => {
    if (node.kind === 'file') {
      image.set(path, keep.file(node))
      return
    }
    if (path !== '') image.set(path, null)
    for (const [name, below] of keep.names(node)) walk(below, join(path, name))
  }
  walk(top, '')
  return image
}

/** Writes an image below a folder; of files that are zeros throughout, only their size. */
export function writeImage(image: Image, root: string): void {
  for (const [path, octets] of image) {
    const to = join(root, path)
    mkdirSync(octets === null ? to : dirname(to), { recursive: true, mode: 0o700 })
    if (octets === null) continue
    const isHollow = octets.length > HOLLOW && octets.equals(Buffer.alloc(octets.length))
    writeFileSync(to, isHollow ? '' : octets, { mode: 0o600 })
    if (isHollow) truncateSync(to, octets.length)
  }
}
const HOLLOW = 64 * 1024
