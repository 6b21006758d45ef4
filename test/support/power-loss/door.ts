import * as fs from 'node:fs'
import * as promises from 'node:fs/promises'
import { resolve, sep } from 'node:path'
import {
  createDisk,
  type DiskFile,
  type DiskOptions,
  type Driver,
  type TestDisk,
} from './test-disk.js'

/**
 * What stands in place of src/adapters/disk/files.ts: the same names, and no others, so that a name the product adds
 * there is missing here until the model knows it. Paths below a mounted disk go to that disk, all others to node:fs.
 */
const mounted = new Map<string, Driver>()
/** Numbers that no file has, and that are never given twice: a gate whose power went may still use an old one. */
const opened = new Map<number, DiskFile>()
let nextNumber = 1 << 24

export function mountDisk(root: string, options: DiskOptions = {}): TestDisk {
  return mount(createDisk(root, options))
}
/** A disk after its process was killed, under another path. */
export const mountAfterKill = (disk: TestDisk, root: string): TestDisk =>
  mount(disk.afterKill(root) as Driver)

function mount(disk: Driver): TestDisk {
  mounted.set(disk.root, disk)
  return disk
}

type Path = fs.PathLike
type Data = string | NodeJS.ArrayBufferView

const octetsOf = (data: Data): Uint8Array =>
  typeof data === 'string'
    ? Buffer.from(data)
    : new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
const whole = (path: Path): string => resolve(String(path))

function diskOf(path: Path | number): Driver | null {
  if (typeof path === 'number') return opened.get(path)?.disk ?? null
  const at = whole(path)
  for (const [root, disk] of mounted) if (at === root || at.startsWith(root + sep)) return disk
  return null
}

/** An operation that ends in a later turn, if the power is still there. */
async function later<T>(disk: Driver, result: T): Promise<T> {
  await new Promise((done) => setImmediate(done))
  disk.alive()
  return result
}

/** Reads a file or folder, which fails without power. */
function looking<A extends readonly unknown[], R>(
  look: (path: Path, ...rest: A) => R,
): (path: Path, ...rest: A) => R {
  return (path, ...rest) => {
    diskOf(path)?.alive()
    return look(path, ...rest)
  }
}

/** For what the product does not do in a data folder. */
function elsewhere<A extends readonly unknown[], R>(
  work: (path: Path, ...rest: A) => R,
): (path: Path, ...rest: A) => R {
  return (path, ...rest) => {
    if (diskOf(path) !== null) throw new Error(`the model does not know this call (${path})`)
    return work(path, ...rest)
  }
}

function openSync(path: Path, flags: string | number = 'r', mode?: number): number {
  const disk = diskOf(path)
  if (disk === null) return fs.openSync(path, flags, mode)
  const number = nextNumber++
  opened.set(number, disk.open(whole(path), flags, mode))
  return number
}
function closeSync(fd: number): void {
  const file = opened.get(fd)
  if (file === undefined) {
    // An old number of a disk that was let go of.
    if (fd < 1 << 24) fs.closeSync(fd)
    return
  }
  opened.delete(fd)
  file.disk.close(file)
}
/** The descriptor of the real file. */
function real(fd: number): number {
  const file = opened.get(fd)
  if (file === undefined) return fd
  file.disk.alive()
  return file.real
}
function writeSync(
  fd: number,
  data: Data,
  start?: number,
  length?: number,
  position?: number | null,
): number {
  const file = opened.get(fd)
  if (file === undefined) {
    return typeof data === 'string'
      ? fs.writeSync(fd, data)
      : fs.writeSync(fd, data, start, length, position)
  }
  const octets = octetsOf(data)
  const from = typeof data === 'string' ? 0 : (start ?? 0)
  const part = octets.subarray(from, from + (length ?? octets.length - from))
  return file.disk.write(file, part, position ?? null)
}
function ftruncateSync(fd: number, size = 0): void {
  const file = opened.get(fd)
  if (file === undefined) fs.ftruncateSync(fd, size)
  else file.disk.truncate(file, size)
}
function syncNow(fd: number): void {
  const file = opened.get(fd)
  // Nothing is really synced: no power really goes.
  file?.disk.sync(file)()
}
async function syncLater(fd: number): Promise<void> {
  const file = opened.get(fd)
  if (file === undefined) return
  const end = file.disk.sync(file)
  await later(file.disk, undefined)
  end()
}

function writeFileSync(path: Path | number, data: Data, options?: fs.WriteFileOptions): void {
  if (diskOf(path) === null) {
    fs.writeFileSync(path, data, options)
    return
  }
  if (typeof path === 'number') {
    writeSync(path, data)
    return
  }
  const mode = typeof options === 'object' ? Number(options?.mode ?? 0o666) : 0o666
  const fd = openSync(path, 'w', mode)
  try {
    writeSync(fd, data)
  } finally {
    closeSync(fd)
  }
}
function linkSync(from: Path, to: Path): void {
  const disk = diskOf(from)
  if (disk === null) fs.linkSync(from, to)
  else disk.link(whole(from), whole(to))
}
function renameSync(from: Path, to: Path): void {
  const disk = diskOf(from)
  if (disk === null) fs.renameSync(from, to)
  else disk.rename(whole(from), whole(to))
}
function unlinkSync(path: Path): void {
  const disk = diskOf(path)
  if (disk === null) fs.unlinkSync(path)
  else disk.remove(whole(path))
}
function rmSync(path: Path, options?: fs.RmOptions): void {
  const disk = diskOf(path)
  if (disk === null) {
    fs.rmSync(path, options)
    return
  }
  disk.alive()
  if (options?.force !== true || fs.existsSync(path)) disk.remove(whole(path))
}
function mkdirSync(path: Path, options?: fs.MakeDirectoryOptions): string | undefined {
  const disk = diskOf(path)
  return disk === null
    ? fs.mkdirSync(path, { recursive: false, ...options })
    : disk.makeFolder(whole(path), options?.recursive === true)
}

/** As much of a FileHandle as the product uses. */
function handleOf(fd: number, disk: Driver) {
  return {
    fd,
    write: (data: Data, start?: number, length?: number, position?: number | null) =>
      soon(disk, () => ({
        bytesWritten: writeSync(fd, data, start, length, position),
        buffer: data,
      })),
    writeFile: (data: Data) => soon(disk, () => void writeSync(fd, data)),
    truncate: (size?: number) => soon(disk, () => ftruncateSync(fd, size)),
    stat: (options?: fs.StatOptions) => soon(disk, () => fs.fstatSync(real(fd), options)),
    read: (
      buffer: NodeJS.ArrayBufferView,
      start: number,
      length: number,
      position: number | null,
    ) =>
      soon(disk, () => ({
        bytesRead: fs.readSync(real(fd), buffer, start, length, position),
        buffer,
      })),
    sync: () => syncLater(fd),
    datasync: () => syncLater(fd),
    close: async () => closeSync(fd),
  }
}
/** Begun at once, as a system call is, and ended in a later turn. */
async function soon<T>(disk: Driver, work: () => T): Promise<T> {
  return later(disk, work())
}
function inTurn<A extends readonly unknown[], R>(
  work: (path: Path, ...rest: A) => R,
  otherwise: (path: Path, ...rest: A) => Promise<R>,
): (path: Path, ...rest: A) => Promise<R> {
  return async (path, ...rest) => {
    const disk = diskOf(path)
    return disk === null ? otherwise(path, ...rest) : soon(disk, () => work(path, ...rest))
  }
}

export const door = {
  constants: fs.constants,
  createReadStream: looking(fs.createReadStream),
  existsSync: looking(fs.existsSync),
  readdirSync: looking(fs.readdirSync as (path: Path, ...rest: unknown[]) => unknown),
  statSync: looking(fs.statSync as (path: Path, ...rest: unknown[]) => unknown),
  watch: looking(fs.watch as (path: Path, ...rest: unknown[]) => unknown),
  readFileSync(path: Path | number, ...rest: unknown[]) {
    const read = fs.readFileSync as (path: Path | number, ...rest: unknown[]) => unknown
    diskOf(path)?.alive()
    return read(typeof path === 'number' ? real(path) : path, ...rest)
  },
  readSync: (fd: number, ...rest: [Buffer, number, number, number | null]) =>
    fs.readSync(real(fd), ...rest),
  fstatSync: (fd: number, options?: fs.StatOptions) => fs.fstatSync(real(fd), options),

  openSync,
  closeSync,
  writeSync,
  writeFileSync,
  ftruncateSync,
  fsyncSync: syncNow,
  fdatasyncSync: syncNow,
  fdatasync(fd: number, done: (error: unknown) => void): void {
    syncLater(fd).then(() => done(null), done)
  },
  mkdirSync,
  linkSync,
  renameSync,
  rmSync,
  unlinkSync,
  copyFileSync: elsewhere(fs.copyFileSync as (path: Path, ...rest: unknown[]) => void),
  createWriteStream: elsewhere(fs.createWriteStream),
  mkdtempSync: (prefix: string) => fs.mkdtempSync(prefix),

  async open(path: Path, flags: string | number = 'r', mode?: number) {
    const disk = diskOf(path)
    if (disk === null) return promises.open(path, flags, mode)
    return soon(disk, () => handleOf(openSync(path, flags, mode), disk))
  },
  mkdir: inTurn(
    mkdirSync,
    promises.mkdir as (
      path: Path,
      options?: fs.MakeDirectoryOptions,
    ) => Promise<string | undefined>,
  ),
  readdir: inTurn(
    fs.readdirSync as (path: Path, ...rest: unknown[]) => unknown,
    promises.readdir as (path: Path, ...rest: unknown[]) => Promise<unknown>,
  ),
  readFile: inTurn(
    fs.readFileSync as (path: Path, ...rest: unknown[]) => unknown,
    promises.readFile as (path: Path, ...rest: unknown[]) => Promise<unknown>,
  ),
  stat: inTurn(
    fs.statSync as (path: Path, ...rest: unknown[]) => unknown,
    promises.stat as (path: Path, ...rest: unknown[]) => Promise<unknown>,
  ),
  rename: inTurn(renameSync, promises.rename as (path: Path, to: Path) => Promise<void>),
  rm: inTurn(rmSync, promises.rm),
  unlink: inTurn(unlinkSync, promises.unlink),
  writeFile: inTurn(
    writeFileSync as (path: Path, data: Data, options?: fs.WriteFileOptions) => void,
    promises.writeFile as (path: Path, data: Data) => Promise<void>,
  ),
  copyFile: elsewhere(promises.copyFile as (path: Path, ...rest: unknown[]) => Promise<void>),
  statfs: promises.statfs,
}
