import { OutgoingMessage, ServerResponse } from 'node:http'
import { Duplex } from 'node:stream'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { Request, Response } from 'express'
import type { Capsule } from '../../src/core/capsule/model.js'
import { type Express, post, type Stand, startApp, VERSIONS } from '../mounts/express/harness.js'
import { ask, rawClient } from '../mounts/proxy/harness.js'

/**
 * Handlers that answer where the gate does not look. What it did not see is never `confirmed`; the
 * client gets the first answer or a cut. Wrong lengths, deadlines and destroyed responses are in
 * test/mounts/express/handlers.test.ts.
 */
let stand: Stand
afterEach(() => stand.close())
const verdict = (capsules: readonly Capsule[]): string =>
  capsules.map(({ disposition, effect }) => `${disposition.verdict_class} ${effect?.status}`).join()

const FORGED = 'HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nforged'
type Handler = (req: Request, res: Response) => unknown
const AROUND: Readonly<Record<string, Handler>> = {
  'res.socket.write, then an answer': (_req, res) => {
    res.socket?.write(FORGED)
    res.end('seen')
  },
  'res.socket.write and no answer': (_req, res) => res.socket?.write(FORGED),
  'req.socket.write, then an answer': (req, res) => {
    req.socket.write(FORGED)
    res.end('seen')
  },
  'res.socket.end': (_req, res) => res.socket?.end(FORGED),
  'res.socket.write in the middle of an answer': (_req, res) => {
    res.write('se')
    res.socket?.write(FORGED)
    res.end('en')
  },
  'res.socket.write in the middle of a streamed answer': (_req, res) => {
    res.write(Buffer.alloc(2_000_000, 'a'))
    res.socket?.write(FORGED)
    res.end('en')
  },
  'a stream piped into the socket': (req, res) => {
    const from = new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() })
    from.pipe(req.socket, { end: false })
    from.push(FORGED)
    from.once('end', () => res.end('seen'))
    from.push(null)
  },
  'the prototype’s write': (_req, res) => {
    ServerResponse.prototype.write.call(res, 'forged', 'utf8', () => {})
    res.end('seen')
  },
  'the prototype’s end': (_req, res) =>
    ServerResponse.prototype.end.call(res, 'forged', 'utf8', () => {}),
  'the prototype’s writeHead and write': (_req, res) => {
    ServerResponse.prototype.writeHead.call(res, 200, { 'content-length': 6 })
    OutgoingMessage.prototype.write.call(res, 'forged', 'utf8', () => {})
    res.end()
  },
  'the prototype’s flushHeaders': (_req, res) => {
    OutgoingMessage.prototype.flushHeaders.call(res)
    res.end('seen')
  },
}

describe.each(VERSIONS)('%s: an answer around the gate', (_, made) => {
  const express = made as Express
  it.each(Object.entries(AROUND))('%s', async (_name, handler) => {
    stand = await startApp((guarded) => express().use(guarded).use(handler))
    const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
    expect(verdict(capsules)).toBe('errored dispatched')
    expect(result.text).not.toContain('forged')
    expect(result.text).not.toContain('seen')
  })
})

describe('after the end', () => {
  const late = (handler: Handler) =>
    startApp(
      (guarded) => (req, res) => guarded(req, res, () => void handler(req as never, res as never)),
    )

  const ended = (more: (res: Response, req: Request) => void): Handler => {
    return (req, res) => {
      res.on('error', () => {})
      res.end('first')
      more(res, req)
    }
  }
  it.each<[string, Handler]>([
    ['write', ended((res) => res.write('second'))],
    ['end', ended((res) => res.end('second'))],
    ['writeHead and end', ended((res) => res.writeHead(500).end('second'))],
    [
      'the prototype’s write',
      ended((res) => ServerResponse.prototype.write.call(res, 'second', 'utf8', () => {})),
    ],
    ['res.socket.write', ended((res) => res.socket?.write('second'))],
    ['req.socket.write', ended((_res, req) => req.socket.write('second'))],
  ])(
    '%s: the client gets the first answer or a cut, and the record is of the first',
    async (_, handler) => {
      stand = await late(handler)
      const { result, capsules } = await stand.after(() => ask(stand.port, post('/run', '')))
      expect(verdict(capsules)).toBe('executed confirmed')
      expect(result.text).not.toContain('second')
      if (result.status !== 0) expect(result.body.toString()).toBe('first')
    },
  )
})

describe('what is no way around', () => {
  it('informational answers, and pipelined answers that stream before it is their turn', async () => {
    let release = (): void => undefined
    const first = new Promise<void>((resolve) => {
      release = resolve
    })
    let count = 0
    stand = await startApp(
      (guarded) => (req, res) =>
        guarded(req, res, () => {
          if (count++ === 0) {
            res.writeProcessing()
            void first.then(() => res.end('one'))
          } else {
            res.write(Buffer.alloc(2_000_000, 'b'))
            res.end('two')
            release()
          }
        }),
    )
    const { capsules } = await stand.after(async () => {
      const client = await rawClient(stand.port)
      client.send(post('/run', '').replace('connection: close\r\n', '') + post('/run', ''))
      const text = (await client.closed()).toString('latin1')
      expect(text).toContain('HTTP/1.1 102')
      expect(text.indexOf('one')).toBeLessThan(text.indexOf('two'))
    }, 2)
    expect(verdict(capsules)).toBe('executed confirmed,executed confirmed')
  })
})
