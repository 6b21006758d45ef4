import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import helmet from 'helmet'
import { z } from 'zod'
import { GateError } from '../../core/error.js'
import type { GateReport } from '../../gate/context.js'
import type { AdminTokens, Principal } from '../../ports/admin.js'
import type { Clock, Ids } from '../../ports/clock.js'
import { authenticate } from './authenticate.js'
import { type AdminLimits, DEFAULT_LIMITS, limiters, within } from './limits.js'
import { AdminProblem, problemDocument } from './problem.js'
import type { Admin, Reply, Route } from './route.js'

export type AppOptions = Admin & {
  readonly tokens: AdminTokens
  readonly clock: Clock
  readonly ids: Pick<Ids, 'random'>
  readonly report: (event: GateReport) => void
  readonly limits?: AdminLimits
}

const BODY_LIMIT = 64 * 1024

/** The admin plane: every row of the table but those for anyone stands behind a token (DESIGN §7). */
export function createApp(
  routes: readonly Route[],
  options: AppOptions,
  /** For people with a browser: they sign in there instead of sending a token each time. */
  pages: RequestHandler,
): Express {
  const app = express()
  app.set('query parser', 'simple')
  app.set('etag', false)
  app.use(helmet(), (_, response, next) => {
    response.set('cache-control', 'no-store')
    next()
  })
  for (const row of routes) if (row.roles === 'anyone') mount(app, row, options)
  app.use(pages)
  app.use(gatekeeper(options))
  for (const row of routes) if (row.roles !== 'anyone') mount(app, row, options)
  app.use(() => {
    throw new AdminProblem('not_found')
  })
  app.use(answerProblems(options))
  return app
}

/** The caller is known before anything is read; an unknown one learns nothing else. */
function gatekeeper({ tokens, limits = DEFAULT_LIMITS }: AppOptions): RequestHandler {
  const { unknown, holders } = limiters(limits)
  return async (request, response, next) => {
    const who = authenticate(request.headers.authorization, tokens)
    if (who.kind !== 'principal') {
      await within(unknown, request)
      throw new AdminProblem(who.kind === 'agent' ? 'forbidden' : 'unauthenticated')
    }
    response.locals.principal = who.principal
    response.locals.token = who.token
    holders(request, response, next)
  }
}

function mount(app: Express, row: Route, options: AppOptions): void {
  const path = row.path.replaceAll(/\{(\w+)\}/g, ':$1')
  const handlers: RequestHandler[] = [mayReach(row)]
  if (row.body !== undefined) handlers.push(express.json({ limit: BODY_LIMIT }))
  app[row.method](path, ...handlers, async (request, response) => {
    const reply = await row.handle(
      {
        params: row.params === undefined ? undefined : read(row.params, request.params, 'path'),
        query: read(row.query ?? NO_QUERY, { ...request.query }, 'query'),
        body: row.body === undefined ? undefined : read(row.body, request.body, 'body'),
        get principal() {
          return principalOf(response)
        },
        http: request,
        stillAllowed: () => options.tokens.held().has(String(response.locals.token)),
      },
      options,
    )
    await send(reply, request, response)
  })
}

const NO_QUERY = z.strictObject({})

function principalOf({ locals }: Response): Principal {
  if (locals.principal === undefined) throw new AdminProblem('unauthenticated')
  return locals.principal as Principal
}

const mayReach =
  ({ roles }: Route): RequestHandler =>
  (_, response, next) => {
    if (roles !== 'anyone' && !roles.includes(principalOf(response).role)) {
      throw new AdminProblem('forbidden')
    }
    next()
  }

function read<S extends z.ZodType>(schema: S, value: unknown, where: string): z.infer<S> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const faults = parsed.error.issues.map(({ path, message }) =>
    [where, ...path.map(String)].join('.').concat(`: ${message}`),
  )
  throw new AdminProblem('request_invalid', faults.join('; '))
}

async function send(reply: Reply, request: Request, response: Response): Promise<void> {
  switch (reply.kind) {
    case 'json':
      response.status(reply.status ?? 200).json(reply.value)
      return
    case 'bytes':
      response.set('content-type', reply.type)
      response.end(reply.bytes)
      return
    case 'stream':
      if (request.method === 'HEAD') response.end()
      else await reply.run(response)
  }
}

/** Every error leaves as problem+json; what was not foreseen is reported to the operator, not to the caller. */
function answerProblems({ report }: AppOptions): ErrorRequestHandler {
  return (error: unknown, _request, response, _next) => {
    const problem = problemOf(error)
    if (problem.code === 'internal' || problem.code === 'record_unavailable') {
      report({ level: 'error', event: 'admin_failed', detail: String(error) })
    }
    if (response.headersSent) {
      response.destroy()
      return
    }
    const document = problemDocument(problem)
    if (document.status === 401) response.set('www-authenticate', 'Bearer')
    response.status(document.status)
    response.set('content-type', 'application/problem+json')
    response.end(JSON.stringify(document))
  }
}

function problemOf(error: unknown): AdminProblem {
  if (error instanceof AdminProblem) return error
  if (error instanceof GateError) {
    return new AdminProblem(error.code === 'archived' ? 'archived' : 'record_unavailable')
  }
  // Express and its body parser: a status of their own for what the client sent.
  const status = (error as { status?: unknown } | null)?.status
  if (status === 413) return new AdminProblem('too_large')
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new AdminProblem('request_invalid')
  }
  return new AdminProblem('internal')
}
