import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { octetsOf, type SystemCall } from './strace.js'

/**
 * A folder as a power loss would leave it at the worst: of a file only what was written when a sync of
 * it began that has ended; of a name only what a sync of its folder found there.
 */
export type Disk = {
  /** Files by path below the folder, each with the octets that are safe. */
  safe(): Image
  apply(call: SystemCall): void
}
export type Image = ReadonlyMap<string, Buffer>

/** Contents are never changed in place: what a sync saw is the value it had. */
type Stored<T> = { now: T; safe: T; changes: number; safeChanges: number }
type File = Stored<Buffer> & { readonly kind: 'file' }
type Folder = Stored<ReadonlyMap<string, Inode>> & { readonly kind: 'folder' }
type Inode = File | Folder
type Open = { readonly inode: Inode; readonly appends: boolean; place: number }

export function openDisk(root: string): Disk {
  const top = existing(root)
  const open = new Map<number, Open>()
  /** By thread, what its sync found when it began. */
  const syncing = new Map<string, () => void>()

  const within = (path: string): string[] | null => {
    if (path === root) return []
    return path.startsWith(root + sep) ? path.slice(root.length + 1).split(sep) : null
  }
  const find = (steps: readonly string[]): Inode | undefined => {
    let at: Inode | undefined = top
    for (const step of steps) at = at?.kind === 'folder' ? at.now.get(step) : undefined
    return at
  }
  /** Puts a name, or takes it away. */
  const name = (steps: readonly string[], inode: Inode | null): void => {
    const folder = find(steps.slice(0, -1))
    if (folder?.kind !== 'folder') throw new Error(`no folder for ${steps.join(sep)}`)
    const now = new Map(folder.now)
    if (inode === null) now.delete(steps.at(-1) ?? '')
    else now.set(steps.at(-1) ?? '', inode)
    change(folder, now)
  }
  const opened = (path: string, flags: string, fd: number): void => {
    const steps = within(path)
    if (steps === null) return
    let inode = find(steps)
    if (inode === undefined) {
      inode = file(Buffer.alloc(0))
      name(steps, inode)
    } else if (inode.kind === 'file' && flags.includes('O_TRUNC')) change(inode, Buffer.alloc(0))
    open.set(fd, { inode, appends: flags.includes('O_APPEND'), place: 0 })
  }
  const write = (fd: number, given: string, result: number, at: number | null): void => {
    const into = open.get(fd)
    if (into?.inode.kind !== 'file') return
    const { inode } = into
    const octets = octetsOf(given).subarray(0, result)
    const place = into.appends ? inode.now.length : (at ?? into.place)
    const now = Buffer.alloc(Math.max(inode.now.length, place + octets.length))
    inode.now.copy(now)
    octets.copy(now, place)
    change(inode, now)
    if (at === null) into.place = place + octets.length
  }

  function begin({ thread, name: call, args }: SystemCall): void {
    const fd = Number(args[0])
    if (call === 'fsync' || call === 'fdatasync') {
      const inode = open.get(fd)?.inode
      if (inode !== undefined) {
        syncing.set(thread, inode.kind === 'file' ? found(inode) : found(inode))
      }
      // Its number may be another file's before the thread is seen to have ended the call.
    } else if (call === 'close') open.delete(fd)
  }

  function end({ thread, name: call, args, result }: SystemCall): void {
    const path = (index: number): string => textOf(args[index] ?? '')
    const fd = Number(args[0])
    const steps = args[0]?.startsWith('"') ? within(path(0)) : null
    switch (call) {
      case 'openat':
        opened(path(1), args[2] ?? '', result)
        break
      case 'open':
        opened(path(0), args[1] ?? '', result)
        break
      case 'write':
        write(fd, args[1] ?? '', result, null)
        break
      case 'pwrite64':
        write(fd, args[1] ?? '', result, Number(args[3]))
        break
      case 'ftruncate': {
        const inode = open.get(fd)?.inode
        if (inode?.kind !== 'file') break
        const now = Buffer.alloc(Number(args[1]))
        inode.now.copy(now)
        change(inode, now)
        break
      }
      case 'fsync':
      case 'fdatasync':
        syncing.get(thread)?.()
        syncing.delete(thread)
        break
      case 'mkdir':
        if (steps !== null) name(steps, folder(new Map()))
        break
      case 'unlink':
        if (steps !== null) name(steps, null)
        break
      case 'rename': {
        const to = within(path(1))
        if (steps === null && to === null) break
        const inode = steps === null ? undefined : find(steps)
        if (steps === null || to === null || inode === undefined) throw new Error('moved across')
        name(steps, null)
        name(to, inode)
        break
      }
      case 'close':
        break
      default:
        if (steps !== null || open.has(fd)) throw new Error(`this disk does not know ${call}`)
    }
  }

  return {
    safe() {
      const image = new Map<string, Buffer>()
      const walk = (inode: Inode, path: string): void => {
        if (inode.kind === 'file') image.set(path, inode.safe)
        else for (const [step, one] of inode.safe) walk(one, join(path, step))
      }
      walk(top, '')
      return image
    },
    apply(call) {
      if (call.phase === 'begun') begin(call)
      else if (call.result >= 0) end(call)
      else syncing.delete(call.thread)
    },
  }
}

/** Writes an image below a folder. */
export function writeImage(image: Image, root: string): void {
  for (const [path, octets] of image) {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o700 })
    writeFileSync(join(root, path), octets, { mode: 0o600 })
  }
}

const stored = <T>(now: T): Stored<T> => ({ now, safe: now, changes: 0, safeChanges: 0 })
const file = (now: Buffer): File => ({ kind: 'file', ...stored(now) })
const folder = (now: Folder['now']): Folder => ({ kind: 'folder', ...stored(now) })
const textOf = (arg: string): string => octetsOf(arg).toString('utf8')

function change<T>(one: Stored<T>, now: T): void {
  one.now = now
  one.changes += 1
}

/** What a sync that begins now makes safe when it ends; an older one that ends later takes nothing back. */
function found<T>(one: Stored<T>): () => void {
  const { now, changes } = one
  return () => {
    if (changes < one.safeChanges) return
    one.safeChanges = changes
    one.safe = now
  }
}

/** What was there before is taken to be safe. */
function existing(path: string): Folder {
  const entries = new Map<string, Inode>()
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const below = join(path, entry.name)
    if (entry.isDirectory()) entries.set(entry.name, existing(below))
    else entries.set(entry.name, file(readFileSync(below)))
  }
  return folder(entries)
}
