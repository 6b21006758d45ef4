import type { Request, Response } from 'express'
import { z } from 'zod'
import type { Crypto } from '../../core/crypto/crypto.js'
import type { Gate } from '../../gate/gate.js'
import type { AdminRole, Principal } from '../../ports/admin.js'
import type { Sources } from './approvals/sources.js'
import type { AdminCode } from './problem.js'
import type { Readiness } from './readiness.js'
import type { Metrics } from './routes/metrics.js'

/** What handlers work with. */
export type Admin = {
  readonly gate: Gate
  readonly crypto: Crypto
  readonly metrics: Metrics
  readonly readiness: Readiness
  /** Approval systems that may deliver decisions; none without a configuration. */
  readonly sources?: Sources
}

type Shape = z.ZodObject | undefined
type Body = z.ZodType | undefined
type Read<S extends Body> = S extends z.ZodType ? z.infer<S> : undefined

export type Ask<P extends Shape = Shape, Q extends Shape = Shape, B extends Body = Body> = {
  readonly params: Read<P>
  readonly query: Read<Q>
  readonly body: Read<B>
  /** Throws `unauthenticated` on a route for anyone. */
  readonly principal: Principal
  readonly http: Request
  /** False from the moment the token is revoked: what lasts asks again. */
  readonly stillAllowed: () => boolean
}
export type Reply =
  | { readonly kind: 'json'; readonly status?: number; readonly value: unknown }
  | { readonly kind: 'bytes'; readonly type: string; readonly bytes: Uint8Array | string }
  /** Writes for as long as it likes; resolves when the response is over. */
  | { readonly kind: 'stream'; readonly run: (response: Response) => Promise<void> }

export type Content =
  | { readonly type: 'application/json'; readonly schema: z.ZodType }
  | { readonly type: 'application/cose' | 'text/plain' | 'text/event-stream' }

/**
 * One row of the route × role table. The router, the OpenAPI document and the tests are all built
 * from these rows; a new route is one more of them.
 */
export type Route<P extends Shape = Shape, Q extends Shape = Shape, B extends Body = Body> = {
  readonly method: 'get' | 'post' | 'delete'
  /** OpenAPI form: `/v1/actions/{action_id}`. */
  readonly path: string
  readonly summary: string
  /** `anyone` needs no token at all. */
  readonly roles: readonly AdminRole[] | 'anyone'
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly answers: { readonly [status: number]: readonly Content[] }
  readonly problems?: readonly AdminCode[]
  handle(ask: Ask<P, Q, B>, admin: Admin): Promise<Reply> | Reply
}

/** Checks each row by its own schemas, then forgets them: the list holds all kinds. */
export const route = <
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Body = undefined,
>(
  row: Route<P, Q, B>,
): Route => row

/** The `answers` of a row that gives JSON under one status. */
export const answering = (shape: z.ZodType | z.ZodRawShape, status = 200): Route['answers'] => {
  const schema = shape instanceof z.ZodType ? shape : z.strictObject(shape)
  return { [status]: [{ type: 'application/json', schema }] }
}

export const json = (value: unknown, status = 200): Reply => ({ kind: 'json', value, status })
