import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import express5 from 'express'
import type { AppRoute } from './readers/route.js'

/** Real frameworks with a route per rule, each of which tells what it understood. */
export type Understood = {
  /** Null: no route of the application, the catch-all ran. */
  readonly tool: string | null
  readonly method: string
  readonly params: Readonly<Record<string, string>>
  readonly query: unknown
  readonly body: unknown
  /** As handlers merge them: `{...query, ...body}`. */
  readonly merged: Readonly<Record<string, unknown>>
}
export type App = {
  readonly origin: string
  readonly port: number
  /** What its handlers were given so far. */
  readonly understood: Understood[]
  /** Connections accepted so far. */
  connections(): number
  close(): Promise<void>
}
export const FRAMEWORKS = ['Express 4', 'Express 5', 'fastify', 'koa'] as const
export type Framework = (typeof FRAMEWORKS)[number]

type Tell = (seen: Omit<Understood, 'merged'>) => Understood

export async function startFramework(name: Framework, routes: readonly AppRoute[]): Promise<App> {
  const understood: Understood[] = []
  const tell: Tell = (seen) => {
    const merged = { ...asObject(seen.query), ...asObject(seen.body) }
    const whole = { ...seen, merged }
    understood.push(whole)
    return whole
  }
  const listener = await MAKE[name](routes, tell)
  const server = createServer(listener)
  let accepted = 0
  server.on('connection', () => accepted++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    port,
    understood,
    connections: () => accepted,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const asObject = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** Packages without types, or whose types change those of every other: what is used is stated here. */
const untyped = async <T>(name: string): Promise<T> => (await import(name)) as T

const expressStyle = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1')

async function express(make: typeof express5, routes: readonly AppRoute[], tell: Tell) {
  const app = make()
  app.use(make.json({ strict: false }), make.urlencoded({ extended: true }))
  const handler = (tool: string | null) => (req: express5.Request, res: express5.Response) => {
    const { method, params, query, body } = req
    const plain = Object.fromEntries(Object.entries(params).map(([k, v]) => [k, String(v)]))
    res.json(tell({ tool, method, params: plain, query, body }))
  }
  for (const { tool, method, path } of routes) {
    app[method.toLowerCase() as 'get'](expressStyle(path), handler(tool))
  }
  app.use(handler(null))
  return app as RequestListener
}

type Fastify = (options: object) => {
  route(route: object): void
  addContentTypeParser(type: string, options: object, parser: unknown): void
  setNotFoundHandler(handler: unknown): void
  ready(): Promise<void>
  readonly server: { emit(event: 'request', ...of: [IncomingMessage, ServerResponse]): boolean }
}
type FastifyRequest = Pick<Understood, 'method' | 'query' | 'body' | 'params'>

async function fastify(routes: readonly AppRoute[], tell: Tell): Promise<RequestListener> {
  const { default: make } = await untyped<{ default: Fastify }>('fastify')
  const app = make({ exposeHeadRoutes: false })
  const form = async (_: unknown, text: string) => Object.fromEntries(new URLSearchParams(text))
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, form)
  const handler =
    (tool: string | null) =>
    async ({ method, params, query, body }: FastifyRequest) =>
      tell({ tool, method, params, query: { ...asObject(query) }, body: body ?? null })
  for (const { tool, method, path } of routes) {
    app.route({ method, url: expressStyle(path), handler: handler(tool) })
  }
  app.setNotFoundHandler(handler(null))
  await app.ready()
  return (req, res) => void app.server.emit('request', req, res)
}

type KoaContext = {
  method: string
  path: string
  query: unknown
  request: { body?: unknown }
  body: unknown
}
type Koa = new () => { use(layer: unknown): void; callback(): RequestListener }

/** Koa has no router of its own; this one ignores case, as koa-router does. */
async function koa(routes: readonly AppRoute[], tell: Tell): Promise<RequestListener> {
  const { default: Make } = await untyped<{ default: Koa }>('koa')
  const { bodyParser } = await untyped<{ bodyParser: () => unknown }>('@koa/bodyparser')
  const app = new Make()
  app.use(bodyParser())
  app.use((context: KoaContext) => {
    for (const { tool, method, path } of routes) {
      const names = [...path.matchAll(/\{(\w+)\}/g)].map((found) => found[1] ?? '')
      const found = new RegExp(`^${path.replace(/\{\w+\}/g, '([^/]+)')}/?$`, 'i').exec(context.path)
      if (method !== context.method || found === null) continue
      const params = names.map((name, at) => [name, decodeURIComponent(found[at + 1] ?? '')])
      context.body = told(tool, context, Object.fromEntries(params))
      return
    }
    context.body = told(null, context, {})
  })
  const told = (tool: string | null, context: KoaContext, params: Record<string, string>) =>
    tell({
      tool,
      method: context.method,
      params,
      query: { ...asObject(context.query) },
      body: context.request.body ?? null,
    })
  return app.callback()
}

const MAKE: Readonly<
  Record<Framework, (routes: readonly AppRoute[], tell: Tell) => Promise<RequestListener>>
> = {
  'Express 4': async (routes, tell) =>
    express((await untyped<{ default: typeof express5 }>('express4')).default, routes, tell),
  'Express 5': (routes, tell) => express(express5, routes, tell),
  fastify,
  koa,
}
