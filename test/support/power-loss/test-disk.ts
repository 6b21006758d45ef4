import {
  closeSync,
  cpSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, relative, sep } from 'node:path'
import {
  changeFile,
  changeNames,
  existing,
  type FileChange,
  type FolderNode,
  type Image,
  imageOf,
  type Keep,
  type Node,
  newFile,
  newFolder,
  nodeAt,
  syncing,
} from './inodes.js'

/**
 * A disk in a temporary folder whose power can go: everything is done for real there, except syncs, and the model
 * notes what each call changed and what a sync confirmed. Once the power is gone every call throws, so that whatever
 * ran on the disk comes to its end.
 */
export type TestDisk = {
  readonly root: string
  /** Changes and syncs so far. */
  operations(): number
  /** The power goes in the course of that operation: a change may be on the disk by then, a sync has not ended. */
  cutAt(operation: number): void
  cut(): void
  isCut(): boolean
  image(keep: Keep): Image
  /** The same disk under another path, as it is after the process was killed: the kernel still has it all. */
  afterKill(root: string): TestDisk
  /** Lets go of the files that were left open. */
  release(): void
}

export type DiskFile = {
  readonly disk: Driver
  readonly node: Node
  /** The descriptor of the file in the temporary folder. */
  readonly real: number
  readonly path: string
  readonly appends: boolean
  position: number
}

/** What the module in place of the product's own calls; paths are whole, descriptors are the test disk's. */
export type Driver = TestDisk & {
  alive(): void
  open(path: string, flags: string | number, mode?: number): DiskFile
  close(file: DiskFile): void
  write(file: DiskFile, octets: Uint8Array, position: number | null): number
  truncate(file: DiskFile, size: number): void
  /** Begins a sync; to be called when it ends. */
  sync(file: DiskFile): () => void
  rename(from: string, to: string): void
  link(from: string, to: string): void
  remove(path: string): void
  makeFolder(path: string, recursive: boolean): string | undefined
}

export type DiskOptions = {
  /** Syncs of which the disk only says that it did them; the path is below the root. */
  readonly lies?: (path: string, kind: Node['kind']) => boolean
}

/** Files that only keep space: their octets are neither read nor stored. */
const isHollow = (path: string): boolean => basename(path).startsWith('reserve')

class PowerLost extends Error {
  readonly code = 'EIO'
  constructor() {
    super('EIO: the power is gone')
  }
}

export function createDisk(root: string, options: DiskOptions = {}, top = existing(root)): Driver {
  const opened = new Set<DiskFile>()
  let operations = 0
  let last = Number.POSITIVE_INFINITY
  let isCut = false

  const stepsTo = (path: string): string[] => {
    const below = relative(root, path)
    return below === '' ? [] : below.split(sep)
  }
  const folderOf = (path: string): FolderNode => {
    const folder = nodeAt(top, stepsTo(path).slice(0, -1))
    if (folder?.kind !== 'folder') throw new Error(`the model has no folder for ${path}`)
    return folder
  }
  const alive = (): void => {
    if (isCut) throw new PowerLost()
  }
  const passed = (): void => {
    operations += 1
    if (operations >= last) isCut = true
    alive()
  }
  const change = (node: Node, one: FileChange): void => {
    if (node.kind === 'file') changeFile(node, one)
  }

  const driver: Driver = {
    root,
    alive,
    operations: () => operations,
    cutAt(operation) {
      last = operation
    },
    cut() {
      isCut = true
    },
    isCut: () => isCut,
    image: (keep) => imageOf(top, keep),
    afterKill(to) {
      isCut = true
      cpSync(root, to, { recursive: true })
      return createDisk(to, options, top)
    },
    release() {
      for (const file of [...opened]) driver.close(file)
    },

    open(path, flags, mode) {
      alive()
      const letter = String(flags)[0]
      const known = nodeAt(top, stepsTo(path))
      const real = openSync(path, flags, mode)
      // A file that a test put there by other means and that is only read has no name in the model.
      const node = known ?? newFile()
      const isNew = known === undefined && (letter === 'w' || letter === 'a')
      if (isNew) changeNames(folderOf(path), new Map([[basename(path), node]]))
      else if (letter === 'w') change(node, { kind: 'size', size: 0 })
      const file = { disk: driver, node, real, path, appends: letter === 'a', position: 0 }
      opened.add(file)
      if (isNew || letter === 'w') passed()
      return file
    },
    close(file) {
      if (opened.delete(file)) closeSync(file.real)
    },
    write(file, octets, position) {
      alive()
      const at = file.appends ? fstatSync(file.real).size : (position ?? file.position)
      const copy = Buffer.from(octets)
      const end = at + copy.length
      if (isHollow(file.path)) {
        const size = Math.max(fstatSync(file.real).size, end)
        ftruncateSync(file.real, size)
        change(file.node, { kind: 'size', size })
      } else {
        for (let done = 0; done < copy.length; ) {
          done += writeSync(file.real, copy, done, copy.length - done, at + done)
        }
        change(file.node, { kind: 'write', at, octets: copy })
      }
      if (position === null) file.position = end
      passed()
      return copy.length
    },
    truncate(file, size) {
      alive()
      ftruncateSync(file.real, size)
      change(file.node, { kind: 'size', size })
      passed()
    },
    sync({ node, path }) {
      passed()
      const end = syncing(node)
      return () => {
        alive()
        if (options.lies?.(relative(root, path), node.kind) !== true) end()
      }
    },
    rename(from, to) {
      alive()
      const [source, target] = [folderOf(from), folderOf(to)]
      const node = source.now.get(basename(from)) ?? null
      if (source !== target) throw new Error('moved to another folder: the model does not know it')
      renameSync(from, to)
      const names = [
        [basename(from), null],
        [basename(to), node],
      ] as const
      changeNames(source, new Map(names))
      passed()
    },
    link(from, to) {
      alive()
      const [source, target] = [folderOf(from), folderOf(to)]
      if (source !== target) throw new Error('linked in another folder: the model does not know it')
      linkSync(from, to)
      changeNames(target, new Map([[basename(to), source.now.get(basename(from)) ?? null]]))
      passed()
    },
    remove(path) {
      alive()
      rmSync(path)
      changeNames(folderOf(path), new Map([[basename(path), null]]))
      passed()
    },
    makeFolder(path, recursive) {
      alive()
      const first = mkdirSync(path, { recursive, mode: 0o700 })
      const steps = stepsTo(path)
      steps.forEach((step, depth) => {
        const above = nodeAt(top, steps.slice(0, depth))
        if (above?.kind !== 'folder' || above.now.has(step)) return
        changeNames(above, new Map([[step, newFolder()]]))
        passed()
      })
      return first
    },
  }
  return driver
}
