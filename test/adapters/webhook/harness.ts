import { createHash, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import type { WebhookReport } from '../../../src/adapters/webhook/model.js'
import { type Endpoint, EVENT_TYPES } from '../../../src/adapters/webhook/model.js'
import {
  type Outbox,
  type OutboxOptions,
  startOutbox,
} from '../../../src/adapters/webhook/outbox.js'
import type { Line } from '../../../src/core/journal/vocabulary.js'
import type { Signer } from '../../../src/ports/signer.js'
import { type FakeTime, fakeTime } from '../../support/approvals.js'
import { known, rawLine } from '../../support/lines.js'

export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

export type Got = {
  readonly id: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly event: { type: string; timestamp: string; data: Record<string, unknown> }
}
export type Answer =
  | { readonly status: number; readonly headers?: Record<string, string> }
  | 'hang'
  | 'reset'
export type Receiver = {
  readonly url: string
  readonly port: number
  readonly got: Got[]
  /** How the next requests are answered; 200 by default. */
  answer: (got: Got, nth: number) => Answer
  /** Resolves when so many requests have come. */
  received(count: number): Promise<void>
  /** Most requests at once so far. */
  most(): number
  hanging(): ServerResponse[]
  close(): Promise<void>
}

/** A real HTTP server that writes down what it is sent. */
export async function receiver(port = 0): Promise<Receiver> {
  const got: Got[] = []
  const waits = new Set<{ count: number; done: () => void }>()
  const hanging: ServerResponse[] = []
  let open = 0
  let most = 0
  const server = createServer((request, response) => {
    open += 1
    most = Math.max(most, open)
    let left = false
    const leave = (): void => {
      if (!left) open -= 1
      left = true
    }
    response.on('close', leave)
    const chunks: Buffer[] = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString()
      const one: Got = {
        id: String(request.headers['webhook-id']),
        headers: request.headers,
        body,
        event: JSON.parse(body),
      }
      got.push(one)
      const answer = self.answer(one, got.length)
      if (answer === 'hang') hanging.push(response)
      else if (answer === 'reset') request.socket.destroy()
      else {
        response.writeHead(answer.status, answer.headers)
        response.end('ok')
      }
      for (const wait of waits) if (got.length >= wait.count) wait.done()
    })
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address() as AddressInfo
  const self: Receiver = {
    url: `http://127.0.0.1:${address.port}/hook?x=1`,
    port: address.port,
    got,
    answer: () => ({ status: 200 }),
    received: (count) =>
      new Promise((resolve) => {
        if (got.length >= count) resolve()
        else waits.add({ count, done: resolve })
      }),
    most: () => most,
    hanging: () => hanging,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return self
}

/** Checks as a receiver would: `v1` with the package, `v1a` by node's own Ed25519. */
export function check({ headers, body }: Got, key: KeyObject, now: number, secret = SECRET): void {
  const signature = String(headers['webhook-signature'])
  const of = (name: string): string => String(headers[name])
  const realNow = Date.now
  Date.now = () => now
  try {
    new Webhook(secret).verify(body, {
      'webhook-id': of('webhook-id'),
      'webhook-timestamp': of('webhook-timestamp'),
      'webhook-signature': signature,
    })
  } finally {
    Date.now = realNow
  }
  if (!checkOwn({ headers, body }, key)) throw new Error('v1a does not verify')
}

export function checkOwn(
  { headers, body }: Pick<Got, 'headers' | 'body'>,
  key: KeyObject,
): boolean {
  const own = String(headers['webhook-signature'])
    .split(' ')
    .filter((part) => part.startsWith('v1a,'))
  const message = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
  return (
    own.length === 1 &&
    verify(null, Buffer.from(message), key, Buffer.from(String(own[0]).slice(4), 'base64'))
  )
}

/** Journal lines a test writes: in memory, because the outbox sees the journal as two functions. */
export function journal() {
  const lines: Line[] = []
  const listeners = new Set<(line: Line) => void>()
  return {
    lines,
    append(type: string, members: object, at = '2026-03-01T12:00:00.000Z'): Line {
      const line = known(rawLine(type, members, { seq: lines.length + 1, at }))
      lines.push(line)
      for (const listener of listeners) listener(line)
      return line
    },
    async *read(from: number): AsyncGenerator<Line> {
      for (const line of [...lines]) if (line.seq >= from) yield line
    },
    subscribe(listener: (line: Line) => void): () => void {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
export type TestJournal = ReturnType<typeof journal>

const sha = (text: string): string => createHash('sha256').update(text).digest('hex')
/** The capsule that opened an item, and the one that superseded another. */
export const opening = (id: string): string => sha(`capsule-${id}`)
export const next = (parent: string): string => sha(`next-${parent}`)

export const opened = (id: string, expires = '2026-03-01T13:00:00.000Z'): object => ({
  approval_id: id,
  capsule_id: opening(id),
  agent: 'support-bot',
  operator: 'acme',
  tool: 'create_refund',
  document_digest: 'd'.repeat(64),
  expires_at: expires,
  on_expiry: 'timeout',
})
export const granted = (id: string): object => ({ approval_id: id, grant: id })
export const denied = (id: string, verdict = 'denied'): object => ({
  capsule: {
    action_id: id,
    capsule_id: opening(id),
    operator: 'acme',
    developer: 'support-bot@1',
    disposition: { verdict_class: verdict, approver: 'policy' },
    'dev.capsulegate.decision_id': id,
  },
})
/** A capsule that supersedes the item's last one. */
export const moved = (
  id: string,
  parent: string,
  disposition: object,
  more: object = {},
): object => ({
  capsule: {
    action_id: `moved-${id}`,
    capsule_id: next(parent),
    operator: 'acme',
    developer: 'support-bot@1',
    timestamp: '2026-03-01T12:10:00.000Z',
    disposition: { approver: 'policy', ...disposition },
    'dev.capsulegate.decision_id': id,
    chain: { parent_capsule_id: parent, relation: 'supersedes' },
    ...more,
  },
})

export type Bench = {
  readonly folder: string
  readonly journal: TestJournal
  readonly time: FakeTime
  readonly key: KeyObject
  readonly told: WebhookReport[]
  outbox(more?: Partial<OutboxOptions>): Promise<Outbox>
  /** The next report of one of these kinds that nobody has waited for. */
  heard(...kinds: readonly WebhookReport['kind'][]): Promise<WebhookReport>
  close(): Promise<void>
}

/** An outbox on a temporary folder, its time moved by the test. */
export function bench(): Bench {
  const folder = mkdtempSync(join(tmpdir(), 'gate-webhooks-'))
  const log = journal()
  const time = fakeTime()
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const signer: Signer = {
    kid: () => new Uint8Array(32),
    sign: (_, message) => sign(null, message, privateKey),
  }
  const told: WebhookReport[] = []
  const unheard: WebhookReport[] = []
  const waits = new Set<{
    kinds: readonly string[]
    done: (report: WebhookReport) => void
  }>()
  const running = new Set<Outbox>()
  return {
    folder,
    journal: log,
    time,
    key: publicKey,
    told,
    async outbox(more = {}) {
      const outbox = await startOutbox({
        folder,
        endpoints: [],
        origin: 'gate-1',
        present: async () => ({
          cursor: log.lines.length,
          context: { approvals: new Map(), judges: null },
        }),
        lines: log.read,
        subscribe: log.subscribe,
        signer,
        clock: time.clock,
        timer: time.timer,
        random: () => 0,
        resolve: async () => [],
        link: (page) => `http://127.0.0.1:8081${page}`,
        report(report) {
          told.push(report)
          const wait = [...waits].find(({ kinds }) => kinds.includes(report.kind))
          if (wait === undefined) unheard.push(report)
          else {
            waits.delete(wait)
            wait.done(report)
          }
        },
        ...more,
      })
      running.add(outbox)
      return {
        stats: outbox.stats,
        head: outbox.head,
        async close() {
          running.delete(outbox)
          await outbox.close()
        },
      }
    },
    heard(...kinds) {
      const at = unheard.findIndex(({ kind }) => kinds.includes(kind))
      const [before] = at === -1 ? [] : unheard.splice(at, 1)
      if (before !== undefined) return Promise.resolve(before)
      return new Promise((done) => waits.add({ kinds, done }))
    },
    async close() {
      for (const outbox of running) await outbox.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export const endpoint = (url: string, more: Partial<Endpoint> = {}): Endpoint => ({
  name: 'chat',
  url,
  events: EVENT_TYPES,
  secrets: () => [SECRET],
  allowPrivate: true,
  ...more,
})
