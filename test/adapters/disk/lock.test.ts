import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { type Lock, lockFolder } from '../../../src/adapters/disk/lock.js'

const CHILD = join(import.meta.dirname, 'lock-child.mjs')
const DIST = new URL('../../../dist/adapters/disk/lock.js', import.meta.url).href

let root: string
let dir: string
let children: ChildProcess[]
let locks: Lock[]
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gate-lock-'))
  dir = join(root, 'data')
  mkdirSync(dir)
  children = []
  locks = []
})
afterEach(async () => {
  for (const child of children) {
    child.stdin?.destroy()
    if (child.exitCode !== null || child.signalCode !== null) continue
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  for (const lock of locks) await lock.release()
  rmSync(root, { recursive: true })
})

type Told = { held: boolean; pid?: number; code?: string; message?: string }
type Other = { readonly child: ChildProcess; next(): Promise<Told> }

function otherProcess(path: string, what: 'hold' | 'with_child' | 'cluster' | 'plain'): Other {
  const child = spawn(process.execPath, [CHILD, path, what], { stdio: ['pipe', 'pipe', 'inherit'] })
  children.push(child)
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return { child, next: async () => JSON.parse((await lines.next()).value) }
}
async function kill({ child }: Other): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
async function lock(path = dir, use: 'journal' | 'evidence' | 'keys' = 'keys'): Promise<Lock> {
  const held = await lockFolder(path, use)
  locks.push(held)
  return held
}
const nameOf = (path: string): string => {
  const { dev, ino } = statSync(path, { bigint: true })
  return `\0capsule-gate/keys/${dev}/${ino}`
}

describe('of two processes', () => {
  it('the second is refused and told who has the folder, in the words of who has it', async () => {
    const first = otherProcess(dir, 'hold')
    const { held, pid } = await first.next()
    expect([held, pid]).toEqual([true, first.child.pid])
    expect(await otherProcess(dir, 'plain').next()).toEqual({
      held: false,
      code: 'locked',
      message: `${dir} is held by pid ${pid}, reading`,
    })
    await expect(lock()).rejects.toMatchObject({
      code: 'locked',
      message: `${dir} is held by pid ${pid}, reading`,
    })
  })

  it('is told the number of the process where the holder says nothing else', async () => {
    await lock()
    const { message } = await otherProcess(dir, 'plain').next()
    expect(message).toBe(`${dir} is held by pid ${process.pid}`)
  })

  it('that ask at the same time, one has it and all others are refused', async () => {
    const told = await Promise.all([1, 2, 3, 4, 5].map(() => otherProcess(dir, 'plain').next()))
    const winner = told.find(({ held }) => held)
    expect(told.filter(({ held }) => held)).toHaveLength(1)
    for (const { held, message } of told) {
      if (!held) expect(message).toBe(`${dir} is held by pid ${winner?.pid}`)
    }
  })

  it('the second has it once the first is killed with -9', async () => {
    const first = otherProcess(dir, 'hold')
    expect(await first.next()).toMatchObject({ held: true })
    await expect(lock()).rejects.toMatchObject({ code: 'locked' })
    await kill(first)
    await lock()
  })

  it('the second has it once the first is killed, though a process that one started lives on', async () => {
    const first = otherProcess(dir, 'with_child')
    expect(await first.next()).toMatchObject({ held: true, child: true })
    await kill(first)
    // Its output is still open: the other process has it.
    expect(first.child.stdout?.closed).toBe(false)
    await lock()
  })

  it('the second has it once the first has ended by itself: the lock keeps nobody alive', async () => {
    const first = otherProcess(dir, 'hold')
    expect(await first.next()).toMatchObject({ held: true })
    const ended = once(first.child, 'exit')
    first.child.stdin?.end()
    expect(await ended).toEqual([0, null])
    await lock()
  })

  it('the second is refused by a first that does not answer, and does not wait for it', async () => {
    const first = otherProcess(dir, 'hold')
    expect(await first.next()).toMatchObject({ held: true })
    first.child.kill('SIGSTOP')
    await expect(lock()).rejects.toMatchObject({
      code: 'locked',
      message: `${dir} is held by another process`,
    })
  })
})

describe('in one process', () => {
  it('a second one is refused, and may have it after a release', async () => {
    const first = await lock()
    await expect(lock()).rejects.toThrow(`${dir} is held by pid ${process.pid}`)
    await first.release()
    const second = await lock()
    // The first one's is over: it takes nothing from the second.
    await first.release()
    await expect(lock()).rejects.toMatchObject({ code: 'locked' })
    await second.release()
  })

  it('another thread is refused, and a lock of its own ends with it', async () => {
    const script = `
      const { parentPort, workerData } = require('node:worker_threads')
      import(workerData.module)
        .then(({ lockFolder }) => lockFolder(workerData.dir, 'keys'))
        .then(() => 'held', ({ message }) => message)
        .then((told) => parentPort.postMessage(told))
      parentPort.on('message', () => {})`
    const thread = (): Worker =>
      new Worker(script, { eval: true, workerData: { module: DIST, dir } })
    const mine = await lock()
    const refused = thread()
    expect(await once(refused, 'message')).toEqual([`${dir} is held by pid ${process.pid}`])
    await refused.terminate()
    await mine.release()
    const holder = thread()
    expect(await once(holder, 'message')).toEqual(['held'])
    await expect(lock()).rejects.toThrow(`${dir} is held by pid ${process.pid}`)
    await holder.terminate()
    await lock()
  })

  it('workers of one cluster are not handed the same lock, nor is their primary', async () => {
    const others = otherProcess(dir, 'cluster')
    // It ends after its workers: one that lived on would hold the next folder that has this one's inode.
    const ended = once(others.child, 'exit')
    const first = await others.next()
    expect(first).toMatchObject({ held: true })
    const refused = { held: false, code: 'locked', message: `${dir} is held by pid ${first.pid}` }
    expect(await others.next()).toEqual(refused)
    expect(await others.next()).toEqual(refused)
    expect(await ended).toEqual([0, null])
  })
})

describe('the folder', () => {
  it('is the same by a link, by a turn in its path, and by a link to what is above it', async () => {
    symlinkSync(dir, join(root, 'link'))
    symlinkSync(root, join(root, 'above'))
    await lock(join(root, 'link'))
    for (const path of [dir, `${root}/data/../data/.`, join(root, 'above', 'data')]) {
      await expect(lock(path)).rejects.toMatchObject({ code: 'locked' })
    }
    const { message } = await otherProcess(join(root, 'above', 'link'), 'plain').next()
    expect(message).toBe(`${join(root, 'above', 'link')} is held by pid ${process.pid}`)
  })

  it('that was moved is still held; a new one in its place is another', async () => {
    await lock()
    renameSync(dir, join(root, 'moved'))
    mkdirSync(dir)
    await expect(lock(join(root, 'moved'))).rejects.toMatchObject({ code: 'locked' })
    await lock()
  })

  it('is held for each use apart, and apart from its neighbours', async () => {
    mkdirSync(join(root, 'data2'))
    for (const use of ['journal', 'evidence', 'keys'] as const) await lock(dir, use)
    await lock(join(root, 'data2'))
    await expect(lock(dir, 'journal')).rejects.toMatchObject({ code: 'locked' })
  })

  it('that is not there cannot be held, and is not made', async () => {
    await expect(lock(join(root, 'nowhere'))).rejects.toMatchObject({ code: 'ENOENT' })
    expect(existsSync(join(root, 'nowhere'))).toBe(false)
  })
})

describe('a stranger who knows the name of the lock', () => {
  let sockets: Socket[]
  beforeEach(() => {
    sockets = []
  })
  afterEach(() => {
    for (const socket of sockets) socket.destroy()
  })

  it('and asks without ever hanging up holds up no release', async () => {
    const held = await lock()
    const asking = connect({ path: nameOf(dir), allowHalfOpen: true })
    sockets.push(asking)
    const [words] = await once(asking.setEncoding('utf8'), 'data')
    expect(words).toBe(`pid ${process.pid}`)
    await held.release()
    await lock()
  })

  it('and hangs up before it is answered does the holder no harm', async () => {
    await lock()
    for (let nth = 0; nth < 20; nth++) {
      const asking = connect({ path: nameOf(dir) })
      await once(asking, 'connect')
      asking.destroy()
    }
    const { message } = await otherProcess(dir, 'plain').next()
    expect(message).toBe(`${dir} is held by pid ${process.pid}`)
  })

  it.each<[string, (socket: Socket) => void]>([
    [
      'talks without end',
      (socket) => {
        const talk = (): void => {
          while (socket.writable && socket.write('x'.repeat(64 * 1024))) {}
        }
        socket.on('drain', talk)
        talk()
      },
    ],
    [
      'lets a word fall now and then',
      (socket) => {
        const falling = setInterval(() => socket.write('x'), 50)
        socket.on('close', () => clearInterval(falling))
      },
    ],
  ])('and has taken it and %s: the refusal comes, and is short', async (_, misbehave) => {
    const squatter = createServer((socket) => {
      sockets.push(socket)
      socket.on('error', () => socket.destroy())
      misbehave(socket)
    })
    squatter.listen({ path: nameOf(dir) })
    await once(squatter, 'listening')
    try {
      const error = await lock().then(
        () => null,
        (refusal) => refusal,
      )
      expect(error).toMatchObject({ code: 'locked' })
      expect(error.message).toMatch(/ is held by x+$/)
      expect(error.message.length).toBeLessThan(2000)
    } finally {
      squatter.close()
    }
  })
})

describe('where there are no abstract sockets', () => {
  it('nothing is held, and nobody is refused', async () => {
    const { platform } = process
    const on = (value: string) => Object.defineProperty(process, 'platform', { value })
    on('darwin')
    try {
      const [first, second] = [await lockFolder(dir, 'keys'), await lockFolder(dir, 'keys')]
      await first.release()
      await second.release()
    } finally {
      on(platform)
    }
  })
})
