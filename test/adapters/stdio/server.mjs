import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, readSync, writeSync } from 'node:fs'
import { createInterface } from 'node:readline'

/** A server on stdio that misbehaves as its first argument says. It writes without buffers: what is written has left. */
const [mode, more = ''] = process.argv.slice(2)
const write = (text) => writeAll(1, Buffer.from(text))
function writeAll(fd, octets) {
  for (let at = 0; at < octets.length; ) {
    try {
      at += writeSync(fd, octets, at)
    } catch (error) {
      if (error.code !== 'EAGAIN') throw error
    }
  }
}
const answer = (id, result = {}) => JSON.stringify({ jsonrpc: '2.0', id, result })
const notify = (method, params = {}) =>
  write(`${JSON.stringify({ jsonrpc: '2.0', method, params })}\n`)
const stay = () => setInterval(() => {}, 1 << 30)

function eachRequest(act) {
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => act(JSON.parse(line), line))
}
const echo = () =>
  eachRequest(({ id, params }) => id !== undefined && write(`${answer(id, params)}\n`))

const MODES = {
  echo,
  /** Answers each line with the digest of its octets, as they came out of the pipe. */
  digest: () => {
    let line = createHash('sha256')
    let start = []
    process.stdin.on('data', (chunk) => {
      for (let at = 0; at < chunk.length; ) {
        const end = chunk.indexOf(0x0a, at) + 1 || chunk.length
        const piece = chunk.subarray(at, end)
        line.update(piece)
        start.push(piece)
        at = end
        if (piece.at(-1) !== 0x0a) continue
        const { id } = JSON.parse(Buffer.concat(start).toString())
        write(`${answer(id, { read: line.digest('hex') })}\n`)
        line = createHash('sha256')
        start = []
      }
    })
  },
  /** Every octet in a write of its own. */
  split: () =>
    eachRequest(({ id, params }) => {
      for (const octet of Buffer.from(`${answer(id, params)}\n`)) writeAll(1, Buffer.of(octet))
    }),
  crlf: () => eachRequest(({ id }) => write(`${answer(id)}\r\n\r\n  \n`)),
  twice: () => eachRequest(({ id }) => write(`${answer(id)}\n${answer(id)}\n`)),
  'another id': () => eachRequest(({ id }) => write(`${answer(id + 1000)}\n${answer(id)}\n`)),
  /** Answers the request before last, when the last comes. */
  'one behind': () => {
    let before
    eachRequest(({ id }) => {
      if (before !== undefined) write(`${answer(before)}\n`)
      before = id
    })
  },
  garbage: () => {
    write('Server started!\n\n  \n[1,2]\n[{"jsonrpc":"2.0","id":1,"result":{}}]\n')
    write('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}\n{"jsonrpc":"2.0","id":1}\n\xff\n')
    echo()
  },
  'garbage without end': () => {
    echo()
    const flood = () => {
      write('garbage\n'.repeat(1000))
      setImmediate(flood)
    }
    flood()
  },
  'no LF at the end': () =>
    eachRequest(({ id }) => {
      write(answer(id))
      process.exit(0)
    }),
  'dies in a line': () =>
    eachRequest(({ id }) => {
      write(answer(id).slice(0, 10))
      process.kill(process.pid, 'SIGKILL')
    }),
  'answers and exits': () =>
    eachRequest(({ id }) => {
      write(`${answer(id)}\n`)
      process.exit(3)
    }),
  'exits at once': () => process.exit(7),
  silent: () => eachRequest(({ method }) => notify('notifications/message', { read: method })),
  'long line': () =>
    eachRequest(() => {
      for (;;) write('x'.repeat(1 << 16))
    }),
  /** Takes the first octets of a request, answers it, and reads no more. */
  early: () => {
    readSync(0, Buffer.alloc(16))
    write(`${answer(1)}\n`)
    stay()
  },
  deaf: stay,
  'closes stdin': () => {
    closeSync(0)
    notify('notifications/message', { closed: 'stdin' })
    stay()
  },
  'closes stdout': () =>
    eachRequest(() => {
      closeSync(1)
      stay()
    }),
  stubborn: () => {
    process.on('SIGTERM', () => notify('notifications/message', { got: 'SIGTERM' }))
    process.stdin.resume()
    stay()
    notify('notifications/message', { ready: true })
  },
  'has a child': () => {
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1 << 30)'], {
      stdio: more === 'quiet' ? 'ignore' : 'inherit',
    })
    notify('notifications/message', { pid: child.pid })
    eachRequest(() => process.exit(0))
  },
  'stderr flood': () => {
    const line = 'e'.repeat(1 << 16)
    eachRequest(({ id, params }) => {
      for (let i = 0; i < params.times; i++) writeAll(2, Buffer.from(line))
      write(`${answer(id)}\n`)
    })
  },
  environment: () =>
    eachRequest(({ id }) => write(`${answer(id, { env: process.env, cwd: process.cwd() })}\n`)),
  asks: () => {
    write('{"jsonrpc":"2.0","id":1,"method":"roots/list"}\n')
    echo()
  },
  pid: () => {
    notify('notifications/message', { pid: process.pid })
    echo()
  },
  signals: () => {
    for (const signal of ['SIGHUP', 'SIGUSR2']) {
      process.on(signal, () => notify('notifications/message', { got: signal }))
    }
    notify('notifications/message', { ready: true })
    echo()
  },
}
MODES[mode]()
