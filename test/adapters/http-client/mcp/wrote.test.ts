import { describe, expect, it } from '@jest/globals'
import {
  type Asked,
  chunk,
  connect,
  END,
  event,
  FREELY,
  json,
  LEGACY,
  MODERN,
  messageOf,
  noneOf,
  open,
  result,
  STREAM,
  text,
} from './harness.js'

const listening = () => {
  const said: string[] = []
  return {
    said,
    control: { ...FREELY, wrote: (octets: Uint8Array) => void said.push(text(octets)) },
  }
}

describe('what was written of a message over HTTP', () => {
  it.each([
    ['a small one', '{"arguments":{"a":"\u00e9"}}'],
    ['a large one', `{"arguments":{"a":"${'x'.repeat(100_000)}"}}`],
  ])('is the body that the server received: %s', async (_, params) => {
    const { ask, raw } = await open((asked) => asked.peer.write(json(result(asked.id))))
    const { said, control } = listening()
    messageOf(await ask(1, MODERN, control, params))
    expect(said).toEqual([raw.requests[0]?.body.toString()])
    expect(said[0]).toContain(params)
  })

  it('is told once, and nothing of how an answer is fetched on another stream', async () => {
    const { ask, raw, methods } = await open(async (asked: Asked) => {
      if (asked.httpMethod === 'POST') {
        await asked.peer.write(STREAM + chunk('id: 7\nretry: 1\ndata:\n\n') + END)
        return
      }
      await asked.peer.write(STREAM + event(result(1)))
    })
    const { said, control } = listening()
    messageOf(await ask(1, LEGACY, control))
    expect(methods).toContain('GET')
    expect(said).toEqual([raw.requests[0]?.body.toString()])
  })

  it('is told although the answer is cut', async () => {
    const { ask, raw } = await open(async ({ peer }) => {
      await peer.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{')
      peer.reset()
    })
    const { said, control } = listening()
    expect(noneOf(await ask(1, MODERN, control))).toMatchObject({ kind: 'sent' })
    expect(said).toEqual([raw.requests[0]?.body.toString()])
  })

  it('is nothing of a message that was withdrawn', async () => {
    const { ask, raw } = await open((asked) => asked.peer.write(json(result(asked.id))))
    const { said, control } = listening()
    const withdrawn = { ...control, stillAllowed: () => false }
    expect(noneOf(await ask(1, MODERN, withdrawn))).toMatchObject({ cause: 'withdrawn' })
    expect(said).toEqual([])
    expect(raw.requests).toEqual([])
  })

  it('is nothing where the connection is refused', async () => {
    const { raw } = await open(() => undefined)
    await raw.close()
    const { connection } = connect(raw.origin)
    const { said, control } = listening()
    const sending = { id: 1, head: MODERN, octets: Buffer.from('{}') }
    expect(noneOf(await connection.request(sending, control))).toMatchObject({ kind: 'not_sent' })
    expect(said).toEqual([])
  })
})
