import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** A system call as the kernel saw it: what it was asked when it began, what came of it when it ended. */
export type SystemCall = {
  readonly thread: string
  readonly name: string
  /** Text in quotes is in hexadecimal escapes, so that no separator occurs in it. */
  readonly args: readonly string[]
  readonly phase: 'begun' | 'ended'
  /** Only when it has ended. */
  readonly result: number
}

/** All that changes a file, a folder or a name, and the syncs. */
const TRACED = [
  'open,openat,creat,close,dup,dup2,dup3',
  'write,writev,pwrite64,pwritev,pwritev2,copy_file_range,sendfile',
  'truncate,ftruncate,fallocate',
  'mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,unlink,unlinkat,rename,renameat,renameat2',
  'fsync,fdatasync,sync_file_range,sync,syncfs',
].join(',')

/** Runs a script under strace; what it printed, and its system calls in the order the kernel saw them. */
export function traceScript(args: readonly string[]): {
  readonly stdout: string
  readonly stderr: string
  readonly calls: readonly SystemCall[]
} {
  const scratch = mkdtempSync(join(tmpdir(), 'gate-trace-'))
  const file = join(scratch, 'trace')
  try {
    const { stdout, stderr } = spawnSync(
      'strace',
      ['-f', '-xx', '-s', '100000000', '-o', file, '-e', `trace=${TRACED}`].concat(
        process.execPath,
        args,
      ),
      // Submitted to a ring, file operations would be no system calls of their own.
      { encoding: 'utf8', timeout: 120_000, env: { ...process.env, UV_USE_IO_URING: '0' } },
    )
    return { stdout, stderr, calls: [...readTrace(readFileSync(file, 'latin1'))] }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const WHOLE = /^(\d+) +([a-z0-9_]+)\((.*)\) += (-?\d+)/
const BEGUN = /^(\d+) +([a-z0-9_]+)\((.*?),? <unfinished \.\.\.>$/
const ENDED = /^(\d+) +<\.\.\. ([a-z0-9_]+) resumed>.*\) += (-?\d+)/

function* readTrace(text: string): Generator<SystemCall> {
  /** By thread: what it was asked stands on the line where it began. */
  const begun = new Map<string, readonly string[]>()
  for (const line of text.split('\n')) {
    const [, thread, name, given, result] = WHOLE.exec(line) ?? BEGUN.exec(line) ?? []
    if (thread !== undefined && name !== undefined && given !== undefined) {
      const args = given.split(', ')
      yield { thread, name, args, phase: 'begun', result: Number.NaN }
      if (result === undefined) begun.set(thread, args)
      else yield { thread, name, args, phase: 'ended', result: Number(result) }
      continue
    }
    const [, ender, ended, outcome] = ENDED.exec(line) ?? []
    if (ender === undefined || ended === undefined) continue
    const args = begun.get(ender) ?? []
    yield { thread: ender, name: ended, args, phase: 'ended', result: Number(outcome) }
  }
}

/** The octets of a quoted argument. */
export function octetsOf(arg: string): Buffer {
  if (!/^"(\\x[0-9a-f]{2})*"$/.test(arg)) throw new Error(`not a whole text: ${arg.slice(0, 40)}`)
  return Buffer.from(arg.slice(1, -1).replaceAll('\\x', ''), 'hex')
}
