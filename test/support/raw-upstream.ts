import { createServer, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'

/**
 * Servers made of a bare socket, so that they can do what no HTTP library would let them do. Each
 * misbehaviour is named and says whether a careful observer may call its answer complete.
 */
export type RawUpstream = {
  readonly origin: string
  readonly port: number
  /** Every request read so far, in order of arrival: head and body. */
  readonly requests: { readonly head: string; readonly body: Buffer }[]
  connections(): number
  close(): Promise<void>
}

/** One accepted connection, as a behaviour sees it. */
export type Peer = {
  readonly socket: Socket
  /** 0 for the first connection accepted, and so on. */
  readonly index: number
  /** Reads one whole request (Content-Length framing); rejects if the client leaves first. */
  request(): Promise<{ head: string; body: Buffer }>
  /** Resolves when the bytes were taken by the kernel. */
  write(bytes: string | Uint8Array): Promise<void>
  /** FIN. */
  fin(): void
  /** RST. */
  reset(): void
}
export type Behaviour = (peer: Peer) => Promise<void> | void

export async function rawUpstream(behave: Behaviour): Promise<RawUpstream> {
  const sockets = new Set<Socket>()
  const requests: RawUpstream['requests'] = []
  let accepted = 0
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    const peer = peerOf(socket, accepted++, requests)
    // A behaviour that loses its client has nothing left to do; the client's side is what is tested.
    Promise.resolve(behave(peer)).catch(() => socket.destroy())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  return {
    origin: `http://127.0.0.1:${address.port}`,
    port: address.port,
    requests,
    connections: () => accepted,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}

export function peerOf(socket: Socket, index: number, requests: RawUpstream['requests']): Peer {
  let pieces: Buffer[] = []
  let length = 0
  let wake: (() => void) | null = null
  let gone = false
  const touch = (): void => {
    wake?.()
    wake = null
  }
  // Reading starts with the first request(): a server that never asks really leaves bytes unread.
  const listen = (): void => {
    if (socket.listenerCount('data') > 0) return
    socket.on('data', (chunk: Buffer) => {
      pieces.push(chunk)
      length += chunk.length
      touch()
    })
    for (const event of ['end', 'close'] as const) {
      socket.on(event, () => {
        gone = true
        touch()
      })
    }
  }
  /** Joined only when enough is there, so that large requests cost one copy. */
  const have = async (enough: (buffered: Buffer) => number | null): Promise<Buffer> => {
    let needed: number | null = null
    for (;;) {
      if (needed === null || length >= needed) {
        const buffered = Buffer.concat(pieces)
        pieces = [buffered]
        needed = enough(buffered)
        if (needed !== null && length >= needed) return buffered
      }
      if (gone) throw new Error('the client left')
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
  return {
    socket,
    index,
    async request() {
      listen()
      let start = 0
      let end = 0
      const buffered = await have((bytes) => {
        const at = bytes.indexOf('\r\n\r\n')
        if (at === -1) return null
        const declared = /^content-length: (\d+)$/im.exec(bytes.toString('latin1', 0, at))?.[1]
        start = at
        end = at + 4 + Number(declared ?? 0)
        return end
      })
      const head = buffered.toString('latin1', 0, start)
      const body = buffered.subarray(start + 4, end)
      pieces = [buffered.subarray(end)]
      length -= end
      requests.push({ head, body })
      return { head, body }
    },
    write: (bytes) =>
      new Promise((resolve, reject) => {
        socket.write(bytes, (error) => (error ? reject(error) : resolve()))
      }),
    fin: () => {
      socket.end()
    },
    reset: () => {
      socket.resetAndDestroy()
    },
  }
}

/** Answers every request on a connection the same way, for as long as the client keeps it. */
export const answering =
  (bytes: string | Uint8Array): Behaviour =>
  async (peer) => {
    for (;;) {
      await peer.request()
      await peer.write(bytes)
    }
  }

const then = (bytes: string | Uint8Array, last: 'fin' | 'reset' | 'keep'): Behaviour => {
  return async (peer) => {
    await peer.request()
    if (bytes.length > 0) await peer.write(bytes)
    if (last !== 'keep') peer[last]()
  }
}

const OK = 'HTTP/1.1 200 OK\r\n'
const FIXED = `${OK}content-length: 10\r\n\r\n`
const CHUNKED = `${OK}transfer-encoding: chunked\r\n\r\n`
const GZIPPED = gzipSync('{"ok":true}')

export type Misbehaviour = {
  readonly serve: Behaviour
  /** Whether an observer may call this answer complete. `never` holds for close_delimited: accept too. */
  readonly complete: 'yes' | 'if_close_accepted' | 'never'
}
const never = (serve: Behaviour): Misbehaviour => ({ serve, complete: 'never' })
const yes = (serve: Behaviour): Misbehaviour => ({ serve, complete: 'yes' })

/** Named, so that other suites can run the same matrix against their own observer. */
export const MISBEHAVIOURS = {
  // The connection ends, at every phase, politely and not.
  'FIN on accept': never((peer) => peer.fin()),
  'RST on accept': never((peer) => peer.reset()),
  'FIN before the head': never(then('', 'fin')),
  'RST before the head': never(then('', 'reset')),
  'FIN in the status line': never(then('HTTP/1.1 20', 'fin')),
  'FIN in the head': never(then(`${OK}content-le`, 'fin')),
  'RST in the head': never(then(`${OK}content-le`, 'reset')),
  'FIN after the head': never(then(FIXED, 'fin')),
  'RST after the head': never(then(FIXED, 'reset')),
  'FIN in a fixed body': never(then(`${FIXED}01234`, 'fin')),
  'RST in a fixed body': never(then(`${FIXED}01234`, 'reset')),
  'FIN in a chunk': never(then(`${CHUNKED}a\r\n01234`, 'fin')),
  'RST in a chunk': never(then(`${CHUNKED}a\r\n01234`, 'reset')),
  'FIN before the zero chunk': never(then(`${CHUNKED}5\r\n01234\r\n`, 'fin')),
  'RST before the zero chunk': never(then(`${CHUNKED}5\r\n01234\r\n`, 'reset')),
  'FIN inside the zero chunk': never(then(`${CHUNKED}5\r\n01234\r\n0\r\n`, 'fin')),
  'FIN after a fixed body': yes(then(`${FIXED}0123456789`, 'fin')),
  'FIN after the zero chunk': yes(then(`${CHUNKED}5\r\n01234\r\n0\r\n\r\n`, 'fin')),
  'close-delimited body, then FIN': {
    serve: then(`${OK}\r\nhello`, 'fin'),
    complete: 'if_close_accepted',
  },
  'close-delimited body, then RST': never(then(`${OK}\r\nhello`, 'reset')),
  'HTTP/1.0 body, then FIN': {
    serve: then('HTTP/1.0 200 OK\r\n\r\nhello', 'fin'),
    complete: 'if_close_accepted',
  },
  // Framing that lies or contradicts itself.
  'Content-Length one too long': never(then(`${OK}content-length: 11\r\n\r\n0123456789`, 'fin')),
  'Content-Length one too short': never(then(`${OK}content-length: 9\r\n\r\n0123456789`, 'fin')),
  'Content-Length twice, differing': never(
    then(`${OK}content-length: 5\r\ncontent-length: 6\r\n\r\n01234`, 'keep'),
  ),
  'Content-Length as a list': never(then(`${OK}content-length: 5, 5\r\n\r\n01234`, 'keep')),
  'Content-Length signed': never(then(`${OK}content-length: +5\r\n\r\n01234`, 'keep')),
  'Content-Length in hex': never(then(`${OK}content-length: 0x5\r\n\r\n01234`, 'keep')),
  'Content-Length empty': never(then(`${OK}content-length:\r\n\r\n`, 'fin')),
  'Content-Length beyond safe integers': never(
    then(`${OK}content-length: 99999999999999999999\r\n\r\n01234`, 'fin'),
  ),
  'Content-Length beside Transfer-Encoding': never(
    then(
      `${OK}content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01234\r\n0\r\n\r\n`,
      'keep',
    ),
  ),
  'Transfer-Encoding gzip': never(then(`${OK}transfer-encoding: gzip\r\n\r\n01234`, 'fin')),
  'Transfer-Encoding chunked twice': never(
    then(`${OK}transfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n`, 'keep'),
  ),
  'Transfer-Encoding on HTTP/1.0': never(
    then('HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n', 'fin'),
  ),
  '204 that announces a body': never(
    then('HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\n01234', 'keep'),
  ),
  '204 followed by bytes': never(then('HTTP/1.1 204 No Content\r\n\r\n01234', 'keep')),
  'chunk size that is no number': never(then(`${CHUNKED}xyz\r\n01234\r\n0\r\n\r\n`, 'keep')),
  'chunk size with a sign': never(then(`${CHUNKED}-5\r\n01234\r\n0\r\n\r\n`, 'keep')),
  'chunk size with 0x': never(then(`${CHUNKED}0x5\r\n01234\r\n0\r\n\r\n`, 'keep')),
  'chunk size that overflows': never(then(`${CHUNKED}ffffffffffffffff\r\n01234`, 'keep')),
  'chunk longer than its size': never(then(`${CHUNKED}4\r\n01234\r\n0\r\n\r\n`, 'keep')),
  'chunk lines ended by LF': never(then(`${CHUNKED}5\n01234\n0\n\n`, 'keep')),
  'chunk extension without end': never(then(`${CHUNKED}5;${'x'.repeat(8192)}`, 'keep')),
  'chunk extensions': yes(
    then(`${CHUNKED}5;name=value;other="x"\r\n01234\r\n0;last\r\n\r\n`, 'keep'),
  ),
  'trailer that is no field': never(then(`${CHUNKED}0\r\nno field\r\n\r\n`, 'keep')),
  'trailers without end': never(then(`${CHUNKED}0\r\n${'a: b\r\n'.repeat(4000)}`, 'keep')),
  // Heads that are not heads.
  'status line of HTTP/2.0': never(then('HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n', 'keep')),
  'status line of HTTP/0.9': never(then('HTTP/0.9 200 OK\r\ncontent-length: 0\r\n\r\n', 'keep')),
  'status of two digits': never(then('HTTP/1.1 20 OK\r\ncontent-length: 0\r\n\r\n', 'keep')),
  'status 600': never(then('HTTP/1.1 600 What\r\ncontent-length: 0\r\n\r\n', 'keep')),
  'garbage instead of a head': never(then('SSH-2.0-OpenSSH_9.6\r\n', 'keep')),
  'binary garbage': never(then(Buffer.from([0, 255, 13, 10, 13, 10, 0]), 'keep')),
  'a head ended by LF': never(then('HTTP/1.1 200 OK\ncontent-length: 0\n\n', 'keep')),
  'a folded header': never(then(`${OK}x: a\r\n b\r\ncontent-length: 0\r\n\r\n`, 'keep')),
  'NUL in a header': never(then(`${OK}x: a\0b\r\ncontent-length: 0\r\n\r\n`, 'keep')),
  'bare CR in a header': never(then(`${OK}x: a\rb\r\ncontent-length: 0\r\n\r\n`, 'keep')),
  'space before the colon': never(then(`${OK}content-length : 0\r\n\r\n`, 'keep')),
  'a header without name': never(then(`${OK}: x\r\ncontent-length: 0\r\n\r\n`, 'keep')),
  'a head of 1 MB': never(then(`${OK}x: ${'a'.repeat(1024 * 1024)}\r\n\r\n`, 'keep')),
  'ten thousand headers': never(then(`${OK}${'a: b\r\n'.repeat(10_000)}\r\n`, 'keep')),
  // Answers to something else.
  /** Needs a request larger than the kernel's buffers to be early. */
  'an early answer': never(async (peer) => {
    await new Promise((resolve) => peer.socket.once('data', resolve))
    peer.socket.pause()
    await peer.write(`${FIXED}0123456789`)
  }),
  'an answer before the request': never(async (peer) => {
    await peer.write(`${FIXED}0123456789`)
    await peer.request()
  }),
  'two answers at once': never(then(`${FIXED}0123456789${FIXED}0123456789`, 'keep')),
  '101 nobody asked for': never(then('HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\n', 'keep')),
  '33 informational answers': never(
    then(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(33)}${FIXED}0123456789`, 'keep'),
  ),
  'informational answers without end': never(async (peer) => {
    await peer.request()
    while (!peer.socket.destroyed) await peer.write('HTTP/1.1 102 Processing\r\n\r\n')
  }),
  // It says nothing, or too slowly.
  'never answers': never(async (peer) => {
    await peer.request()
  }),
  'never reads': never(() => {}),
  'never ends the head': never(then(`${OK}x: `, 'keep')),
  'never ends the body': never(then(`${FIXED}01234`, 'keep')),
  'trickles one byte per read': yes(async (peer) => {
    await peer.request()
    peer.socket.setNoDelay(true)
    for (const byte of Buffer.from(`${CHUNKED}5\r\n01234\r\n0\r\nx-t: 1\r\n\r\n`)) {
      await peer.write(Uint8Array.of(byte))
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
  }),
  // Unusual, and right.
  'unasked 100 Continue': yes(then(`HTTP/1.1 100 Continue\r\n\r\n${FIXED}0123456789`, 'keep')),
  '32 informational answers': yes(
    then(`${'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(32)}${FIXED}0123456789`, 'keep'),
  ),
  'a redirect': yes(
    then('HTTP/1.1 302 Found\r\nlocation: /elsewhere\r\ncontent-length: 0\r\n\r\n', 'keep'),
  ),
  'status line without reason': yes(then('HTTP/1.1 200\r\ncontent-length: 0\r\n\r\n', 'keep')),
  'compressed although identity was asked': yes(
    then(
      Buffer.concat([
        Buffer.from(
          `${OK}content-type: application/json\r\ncontent-encoding: gzip\r\ncontent-length: ${GZIPPED.length}\r\n\r\n`,
        ),
        GZIPPED,
      ]),
      'keep',
    ),
  ),
  'RST after a fixed body': yes(then(`${FIXED}0123456789`, 'reset')),
} as const satisfies Readonly<Record<string, Misbehaviour>>

export type MisbehaviourName = keyof typeof MISBEHAVIOURS
