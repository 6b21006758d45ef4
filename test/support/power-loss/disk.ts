import { sep } from 'node:path'
import {
  AT_WORST,
  changeFile,
  changeNames,
  existing,
  type Image,
  imageOf,
  type Node,
  newFile,
  newFolder,
  nodeAt,
  syncing,
} from './inodes.js'
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

type Open = { readonly node: Node; readonly appends: boolean; position: number }

export function openDisk(root: string): Disk {
  const top = existing(root)
  const open = new Map<number, Open>()
  /** By thread, what its sync found when it began. */
  const begun = new Map<string, () => void>()

  const within = (path: string): string[] | null => {
    if (path === root) return []
    return path.startsWith(root + sep) ? path.slice(root.length + 1).split(sep) : null
  }
  /** Puts a name, or takes it away. */
  const name = (steps: readonly string[], node: Node | null): void => {
    const folder = nodeAt(top, steps.slice(0, -1))
    if (folder?.kind !== 'folder') throw new Error(`no folder for ${steps.join(sep)}`)
    changeNames(folder, new Map([[steps.at(-1) ?? '', node]]))
  }
  const opened = (path: string, flags: string, fd: number): void => {
    const steps = within(path)
    if (steps === null) return
    let node = nodeAt(top, steps)
    if (node === undefined) {
      node = newFile()
      name(steps, node)
    } else if (node.kind === 'file' && flags.includes('O_TRUNC')) {
      changeFile(node, { kind: 'size', size: 0 })
    }
    open.set(fd, { node, appends: flags.includes('O_APPEND'), position: 0 })
  }
  const write = (fd: number, given: string, result: number, position: number | null): void => {
    const into = open.get(fd)
    if (into?.node.kind !== 'file') return
    const octets = octetsOf(given).subarray(0, result)
    const at = into.appends ? into.node.size : (position ?? into.position)
    changeFile(into.node, { kind: 'write', at, octets })
    if (position === null) into.position = at + octets.length
  }

  function begin({ thread, name: call, args }: SystemCall): void {
    const fd = Number(args[0])
    if (call === 'fsync' || call === 'fdatasync') {
      const node = open.get(fd)?.node
      if (node !== undefined) begun.set(thread, syncing(node))
      // Its number may be another file's before the thread is seen to have ended the call.
    } else if (call === 'close') open.delete(fd)
  }

  function end({ thread, name: call, args, result }: SystemCall): void {
    const path = (index: number): string => octetsOf(args[index] ?? '').toString('utf8')
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
        const node = open.get(fd)?.node
        if (node?.kind === 'file') changeFile(node, { kind: 'size', size: Number(args[1]) })
        break
      }
      case 'fsync':
      case 'fdatasync':
        begun.get(thread)?.()
        begun.delete(thread)
        break
      case 'mkdir':
        if (steps !== null) name(steps, newFolder())
        break
      case 'unlink':
        if (steps !== null) name(steps, null)
        break
      case 'link': {
        const to = within(path(1))
        if (steps === null && to === null) break
        const node = steps === null ? undefined : nodeAt(top, steps)
        if (to === null || node === undefined) throw new Error('linked across')
        name(to, node)
        break
      }
      case 'rename': {
        const to = within(path(1))
        if (steps === null && to === null) break
        const node = steps === null ? undefined : nodeAt(top, steps)
        if (steps === null || to === null || node === undefined) throw new Error('moved across')
        name(steps, null)
        name(to, node)
        break
      }
      case 'close':
        break
      default:
        if (steps !== null || open.has(fd)) throw new Error(`this disk does not know ${call}`)
    }
  }

  return {
    safe: () => imageOf(top, AT_WORST),
    apply(call) {
      if (call.phase === 'begun') begin(call)
      else if (call.result >= 0) end(call)
      else begun.delete(call.thread)
    },
  }
}
