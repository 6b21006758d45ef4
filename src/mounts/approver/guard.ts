import { createHmac, timingSafeEqual } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { AdminProblem } from '../admin/problem.js'
import { SESSION_SECONDS, type Session } from './session.js'

export const sessionOf = (response: Response): Session => response.locals.session as Session

const FIELDS = [
  'csrf',
  'token',
  'item',
  'decision',
  'digest',
  'on',
  'reason',
  'ttl_seconds',
  'confirm',
] as const
export type Fields = { readonly [name in (typeof FIELDS)[number]]: string }

/** Each once and as text, or empty: a field sent twice is not the form we made. */
export function fieldsOf(request: Request): Fields {
  const sent = (request.body ?? {}) as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    FIELDS.map((name) => {
      const value = Object.hasOwn(sent, name) ? sent[name] : ''
      return [name, typeof value === 'string' ? value : '']
    }),
  ) as Fields
}

/** Another port of this host is another origin, and says so. A browser too old to say is held by the token. */
export function ownForm(request: Request, _: Response, next: NextFunction): void {
  const site = request.get('sec-fetch-site')
  const origin = request.get('origin')
  const foreign = site !== undefined && site !== 'same-origin'
  const host = origin !== undefined && URL.canParse(origin) ? new URL(origin).host : null
  if (foreign || (origin !== undefined && host !== request.get('host'))) {
    throw new AdminProblem('forbidden', 'The form was not sent from this page.')
  }
  next()
}

export function genuine(request: Request, response: Response, next: NextFunction): void {
  if (!same(fieldsOf(request).csrf, sessionOf(response).csrf)) {
    throw new AdminProblem('forbidden', 'The form was not made for you. Nothing was decided.')
  }
  next()
}

function same(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** There is no session before signing in: the form carries when it ends, signed. */
export function signInForm(key: Buffer, clock: { now(): number }) {
  const sign = (until: string): string =>
    createHmac('sha256', key).update(until).digest('base64url')
  return {
    make(): string {
      const until = String(clock.now() + SESSION_SECONDS * 1000)
      return `${until}.${sign(until)}`
    },
    isOurs(value: string): boolean {
      const [until = '', signature = ''] = value.split('.')
      return same(signature, sign(until)) && Number(until) > clock.now()
    },
  }
}
