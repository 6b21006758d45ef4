import { afterAll, expect } from '@jest/globals'
import { isMcpMatch } from '../../src/core/manifest/model.js'
import {
  AUTH,
  ask,
  type RawAnswer,
  type Stand,
  type StandOptions,
  startStand,
} from '../mounts/proxy/harness.js'
import { type App, type Framework, startFramework } from '../support/frameworks.js'
import { manifestOf } from '../support/manifests.js'
import type { Reader } from '../support/readers/view.js'
import { type ReadingServer, serveAs } from '../support/reading-server.js'

/** A gate on sockets in front of one application that reads in its own way. */
export type Scene<S> = {
  readonly stand: Stand
  readonly app: S
  /** One request, with the capsules it left. */
  send(request: Sent): Promise<Outcome>
  close(): Promise<void>
}
export type Sent = {
  readonly line: string
  readonly body?: string
  readonly type?: string | null
  readonly headers?: readonly string[]
}
export type Outcome = {
  readonly status: number
  readonly answer: RawAnswer
  readonly problem: Readonly<Record<string, unknown>>
  readonly verdicts: readonly string[]
}

export const FORM = 'application/x-www-form-urlencoded'
export const MULTIPART = 'multipart/form-data; boundary=b'
export const field = (name: string, value: string): string =>
  `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n--b--\r\n`

/** The routes of the application are the rules of the manifest. */
const routesOf = (manifest: string) =>
  manifestOf(manifest).rules.flatMap(({ tool, match, args }) =>
    match === null || isMcpMatch(match)
      ? []
      : [
          {
            tool,
            ...match,
            args: Object.entries(args).map(([name, { type, from }]) => ({
              name,
              type,
              in: from.in,
              at: from.in === 'body' ? from.pointer : from.name,
            })),
          },
        ],
  )

/** Gates and applications of one suite: opened once each, closed when it ends. */
export function scenes() {
  const open = new Map<string, Promise<Scene<{ close(): Promise<void> }>>>()
  afterAll(async () => {
    for (const one of open.values()) await (await one).close()
  })
  const once = <S extends { close(): Promise<void> }>(
    key: readonly unknown[],
    start: () => Promise<S & { readonly origin: string }>,
    manifest: string,
    more: Partial<StandOptions>,
  ): Promise<Scene<S>> => {
    const name = JSON.stringify([...key, manifest, more])
    const known = open.get(name) as Promise<Scene<S>> | undefined
    const made = known ?? start().then((app) => opened(app, manifest, more))
    open.set(name, made)
    return made
  }
  return {
    async inFrontOf(reader: Reader, manifest: string, more: Partial<StandOptions> = {}) {
      const start = () => serveAs(reader, routesOf(manifest))
      const at = await once<ReadingServer>([reader.name], start, manifest, more)
      at.app.ran.length = 0
      return at
    },
    async inFrontOfFramework(
      framework: Framework,
      manifest: string,
      more: Partial<StandOptions> = {},
    ) {
      const start = () => startFramework(framework, routesOf(manifest))
      const at = await once<App>([framework], start, manifest, more)
      at.app.understood.length = 0
      return at
    },
  }
}

const opened = async <S extends { readonly origin: string; close(): Promise<void> }>(
  app: S,
  manifest: string,
  more: Partial<StandOptions>,
): Promise<Scene<S>> => scene(app, await startStand({ upstream: app.origin, manifest, ...more }))

const scene = <S extends { close(): Promise<void> }>(app: S, stand: Stand): Scene<S> => ({
  stand,
  app,
  async send(request) {
    const { result, capsules } = await stand.after(() => ask(stand.port, octets(request)))
    return outcome(
      result,
      capsules.map(({ disposition }) => disposition.verdict_class),
    )
  },
  async close() {
    await stand.close()
    await app.close()
  },
})

export function outcome(answer: RawAnswer, verdicts: readonly string[]): Outcome {
  const type = answer.headers.get('content-type') ?? ''
  const isProblem = type.includes('problem+json') && answer.body.length > 0
  const problem = isProblem ? JSON.parse(answer.body.toString('utf8')) : {}
  return { status: answer.status, answer, problem, verdicts }
}

export function octets({ line, body = '', type, headers = [] }: Sent, auth = AUTH): string {
  const named = type === undefined ? (body === '' ? null : 'application/json') : type
  return [
    `${line} HTTP/1.1`,
    'host: gate',
    'connection: close',
    auth.trim(),
    ...(named === null ? [] : [`content-type: ${named}`]),
    ...headers,
    ...(body === '' ? [] : [`content-length: ${Buffer.byteLength(body, 'latin1')}`]),
    '',
    body,
  ].join('\r\n')
}

/** Refused with this code, recorded once, and nothing of it has reached the application. */
export function expectRefused(
  { status, problem, verdicts }: Outcome,
  code: string,
  extra: Readonly<Record<string, unknown>> = {},
): void {
  expect(problem).toMatchObject({ code, dispatched: false, ...extra })
  expect(status).toBe(400)
  expect(verdicts).toEqual(['denied'])
}
