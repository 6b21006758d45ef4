import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
  jest,
} from '@jest/globals'
import type { JSONWebKeySet } from 'jose'
import { createMandates } from '../../../src/adapters/identity/mandate.js'
import { watchFile } from '../../../src/adapters/identity/watch-tokens.js'
import { type Listening, listen } from '../../support/listen.js'
import {
  issuerWith,
  type Key,
  makeKey,
  SENDER,
  START,
  signMandate,
} from '../../support/mandates.js'

let old: Key
let fresh: Key
let byOld: string
let byFresh: string
beforeAll(async () => {
  old = await makeKey('k1')
  fresh = await makeKey('k2')
  byOld = await signMandate(old)
  byFresh = await signMandate(fresh)
})

// Both clocks stand still until a test moves them: how long a set is good is jose's Date.now.
let passed = 0
beforeEach(() => {
  passed = 0
  const [date, monotonic] = [Date.now(), performance.now()]
  jest.spyOn(Date, 'now').mockImplementation(() => date + passed)
  jest.spyOn(performance, 'now').mockImplementation(() => monotonic + passed)
})
afterEach(() => {
  jest.restoreAllMocks()
})

const clock = { now: () => START }
const valid = expect.objectContaining({ kind: 'valid' })
const unavailable = { kind: 'unavailable', why: 'keys_unavailable' }
const invalid = (why: string) => ({ kind: 'invalid', why })
const setOf = (...keys: readonly Key[]): JSONWebKeySet => ({ keys: keys.map(({ jwk }) => jwk) })

describe('keys that are fetched', () => {
  let server: Listening
  let requests: number
  let answer: RequestListener
  const json =
    (body: unknown): RequestListener =>
    (_, response) => {
      response.end(JSON.stringify(body))
    }
  beforeEach(async () => {
    requests = 0
    answer = json(setOf(old))
    server = await listen((request, response) => {
      requests++
      answer(request, response)
    })
  })
  afterEach(() => server.close())

  function reading() {
    const jwks = { kind: 'remote', url: `http://127.0.0.1:${server.port}/keys` } as const
    const { read } = createMandates({ issuers: [issuerWith([], { jwks })], clock })
    return (token: string) => read(token, SENDER)
  }

  it('are fetched once for many mandates', async () => {
    const read = reading()
    for (let n = 0; n < 5; n++) expect(await read(byOld)).toEqual(valid)
    expect(requests).toBe(1)
  })

  it.each<[string, RequestListener]>([
    ['answers 500', (_, response) => response.writeHead(500).end('{"keys":[]}')],
    ['answers 404', (_, response) => response.writeHead(404).end('{"keys":[]}')],
    ['redirects', (_, response) => response.writeHead(302, { location: '/other' }).end()],
    ['hangs up', (request) => request.socket.destroy()],
    ['answers what is no JSON', (_, response) => response.end('<html>')],
    ['answers no set', json({ keys: 'none' })],
  ])('leave a mandate undecided where the server %s, and are asked for later', async (_, fails) => {
    const works = answer
    answer = fails
    const read = reading()
    expect(await read(byOld)).toEqual(unavailable)
    expect(await read(byOld)).toEqual(unavailable)
    passed = 4_999
    expect(await read(byFresh)).toEqual(unavailable)
    expect(requests).toBe(1)
    answer = works
    passed = 5_000
    expect(await read(byOld)).toEqual(valid)
    expect(requests).toBe(2)
  })

  it('leave it undecided where nobody listens, or nobody answers in time', async () => {
    const read = reading()
    await server.close()
    expect(await read(byOld)).toEqual(unavailable)
    server = await listen(() => late.abort(new DOMException('too late', 'TimeoutError')))
    const late = new AbortController()
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(late.signal)
    expect(await reading()(byOld)).toEqual(unavailable)
    expect(timeout).toHaveBeenCalledWith(5_000)
  })

  it('may rotate: the new one is found, and what the old one signed is no longer good', async () => {
    const read = reading()
    expect(await read(byOld)).toEqual(valid)
    expect(await read(byOld)).toEqual(valid)
    answer = json(setOf(fresh))
    expect(await read(byFresh)).toEqual(invalid('kid_unknown'))
    expect(requests).toBe(1)
    passed = 30_000
    expect(await read(byFresh)).toEqual(valid)
    expect(requests).toBe(2)
    expect(await read(byOld)).toEqual(invalid('kid_unknown'))
  })

  it('are fetched anew after ten minutes, also for a mandate that is remembered', async () => {
    const read = reading()
    for (let n = 0; n < 3; n++) expect(await read(byOld)).toEqual(valid)
    answer = json(setOf(fresh))
    passed = 599_999
    expect(await read(byOld)).toEqual(valid)
    passed = 600_000
    expect(await read(byOld)).toEqual(invalid('kid_unknown'))
    answer = (request) => request.socket.destroy()
    expect(await read(byFresh)).toEqual(valid)
    passed = 1_200_000
    expect(await read(byFresh)).toEqual(unavailable)
  })

  it('serve on while only an unknown one cannot be asked for', async () => {
    const read = reading()
    expect(await read(byOld)).toEqual(valid)
    answer = (request) => request.socket.destroy()
    passed = 30_000
    expect(await read(byFresh)).toEqual(unavailable)
    expect(await read(byOld)).toEqual(valid)
  })
})

describe('keys in a file', () => {
  const dir = mkdtempSync(join(tmpdir(), 'mandate-keys-'))
  const file = join(dir, 'jwks.json')
  afterAll(() => rmSync(dir, { recursive: true, force: true }))
  function write(set: unknown): void {
    writeFileSync(`${file}.new`, typeof set === 'string' ? set : JSON.stringify(set))
    renameSync(`${file}.new`, file)
    passed += 1_000
  }
  function reading() {
    const parsed = (): JSONWebKeySet => JSON.parse(readFileSync(file, 'utf8'))
    const read = watchFile(file, parsed, { keys: [] }, () => undefined)
    const mandates = createMandates({
      issuers: [issuerWith([], { jwks: { kind: 'file', read } })],
      clock,
    })
    return (token: string) => mandates.read(token, SENDER)
  }

  it('are read again when it changes, also for a mandate that is remembered', async () => {
    write(setOf(old))
    const read = reading()
    for (let n = 0; n < 2; n++) expect(await read(byOld)).toEqual(valid)
    expect(await read(byFresh)).toEqual(invalid('kid_unknown'))
    write(setOf(fresh))
    expect(await read(byOld)).toEqual(invalid('kid_unknown'))
    expect(await read(byFresh)).toEqual(valid)
    write(setOf(old, fresh))
    expect([await read(byOld), await read(byFresh)]).toEqual([valid, valid])
  })

  it.each(['{', '{"keys":[7]}', '{"keys":{}}', 'null', ''])(
    'are none once it holds %j, however often one asks',
    async (text) => {
      write(setOf(old))
      const read = reading()
      for (let n = 0; n < 2; n++) expect(await read(byOld)).toEqual(valid)
      write(text)
      for (let n = 0; n < 3; n++) {
        expect(await read(byOld)).toMatchObject({ kind: 'invalid' })
      }
      write(setOf(old))
      expect(await read(byOld)).toEqual(valid)
    },
  )

  it('leave no error to whoever asks, even where the file cannot be looked at', async () => {
    let fails = false
    const read = () => {
      if (fails) throw new Error('EACCES')
      return setOf(old)
    }
    const mandates = createMandates({
      issuers: [issuerWith([], { jwks: { kind: 'file', read } })],
      clock,
    })
    expect(await mandates.read(byOld, SENDER)).toEqual(valid)
    fails = true
    expect(await mandates.read(byOld, SENDER)).toEqual(invalid('keys_unusable'))
  })
})
