import express, {
  type ErrorRequestHandler,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import { meets, rolesAt } from '../../core/approval/deadline.js'
import { haltFor } from '../../gate/operate/halt.js'
import type { Approval } from '../../ports/state.js'
import type { AppOptions } from '../admin/app.js'
import { deciderOf, readable } from '../admin/approvals/approvals.js'
import { decide, decisionBody } from '../admin/approvals/decide.js'
import { mayRead, rolesOf } from '../admin/approvals/view.js'
import { DEFAULT_LIMITS, limiters, within } from '../admin/limits.js'
import { AdminProblem, problemDocument } from '../admin/problem.js'
import { actionId } from '../admin/routes/schemas.js'
import { type Attempt, mustTick } from './forms.js'
import { type Fields, fieldsOf, genuine, ownForm, sessionOf, signInForm } from './guard.js'
import { inboxPage } from './inbox.js'
import { clockPage, itemPage } from './item.js'
import { problemPage, sessionPath, signInPage } from './page.js'
import { cookieFor, cookieIn, createSessions, SESSION_SECONDS, type Session } from './session.js'
import { contentPolicy } from './style.js'

const FORM_LIMIT = '16kb'

/**
 * The approver's pages, on the admin listener. Rendered here, without a script. A person signs in with
 * their approver token; the browser then holds a short-lived cookie for one unguessable path.
 */
export function createApprover(options: AppOptions): RequestHandler {
  const { gate, tokens, clock, ids, limits = DEFAULT_LIMITS } = options
  const sessions = createSessions(tokens, clock, ids)
  const { unknown, holders } = limiters(limits)
  const form = signInForm(Buffer.from(ids.random(32)), clock)
  const router = express.Router()
  const body = [ownForm, express.urlencoded({ extended: false, limit: FORM_LIMIT })]

  const signIn: RequestHandler = (request, response) => {
    const item = actionId.safeParse(request.params.id)
    if (request.params.id !== undefined && !item.success) throw new AdminProblem('not_found')
    show(response, signInPage(form.make(), item.data ?? null, null))
  }
  router.get('/approvals', signIn)
  router.get('/approvals/:id', signIn)

  router.post('/login', body, async (request: Request, response: Response) => {
    const { token, csrf, item } = fieldsOf(request)
    const wanted = actionId.safeParse(item)
    const opened = form.isOurs(csrf) ? sessions.open(token, isSecure(request)) : null
    if (opened !== null) {
      const path = sessionPath(opened.session)
      setCookie(response, opened.session, opened.secret, SESSION_SECONDS)
      response.redirect(303, wanted.success ? `${path}/${wanted.data}` : path)
      return
    }
    // Only failures are counted by address: others behind the same one cannot keep an approver out.
    await within(unknown, request)
    const said = form.isOurs(csrf)
      ? 'This token does not open this page.'
      : 'The form was too old. Try again.'
    show(response.status(401), signInPage(form.make(), wanted.data ?? null, said))
  })

  const inside = express.Router({ mergeParams: true })
  router.use('/approvals/in/:pathId', inside)
  inside.use((request, response, next) => {
    const pathId = String((request.params as { pathId?: string }).pathId)
    const found = sessions.find(pathId, cookieIn(request.headers.cookie))
    if (found === null) {
      const item = actionId.safeParse(request.path.split('/')[1])
      const said = 'You are signed out. Nothing was decided.'
      show(response.status(401), signInPage(form.make(), item.data ?? null, said))
      return
    }
    const { session, renewed } = found
    if (renewed !== null) setCookie(response, session, renewed, SESSION_SECONDS)
    response.locals.session = session
    response.locals.token = session.token
    holders(request, response, next)
  })

  inside.get('/', async (_, response) => {
    const session = sessionOf(response)
    const own = (all: readonly Approval[]): Approval[] =>
      all.filter((approval) => mayRead(session.principal, approval))
    const { read } = gate
    const lists = { open: own(await read.approvals()), ended: own(await read.endedApprovals()) }
    show(response, inboxPage(session, { ...lists, now: clock.now() }))
  })

  inside.post('/logout', body, genuine, (_: Request, response: Response) => {
    const session = sessionOf(response)
    sessions.close(session.pathId)
    setCookie(response, session, '', 0)
    response.redirect(303, '/approvals')
  })

  const item = (request: Request, response: Response): Promise<Approval> => {
    const id = actionId.safeParse(request.params.id)
    if (!id.success) throw new AdminProblem('not_found')
    return readable(id.data, sessionOf(response).principal, options)
  }
  async function showItem(response: Response, approval: Approval, attempt: Attempt | null) {
    const session = sessionOf(response)
    const shown = await gate.read.document(approval)
    const hindrance = hindranceOf(session, approval)
    show(response, itemPage({ session, approval, shown, hindrance, attempt }))
  }

  inside.get('/:id', async (request, response) => {
    await showItem(response, await item(request, response), null)
  })
  inside.get('/:id/clock', async (request, response) => {
    const approval = await item(request, response)
    const { on } = request.query
    show(response, clockPage(typeof on === 'string' ? on : null, approval, clock.now()), 'self')
  })
  inside.post('/:id/decision', body, genuine, async (request: Request, response: Response) => {
    const approval = await item(request, response)
    const session = sessionOf(response)
    const fields = fieldsOf(request)
    try {
      await decideBy(session, approval, fields)
    } catch (error) {
      if (!(error instanceof AdminProblem)) throw error
      const { message: problem } = error
      response.status(problemDocument(error).status)
      const { decision, reason } = fields
      await showItem(response, await item(request, response), { problem, decision, reason })
      return
    }
    response.redirect(303, `${sessionPath(session)}/${approval.approvalId}`)
  })

  async function decideBy(session: Session, approval: Approval, fields: Fields): Promise<void> {
    const { decision, digest, on, reason, ttl_seconds, confirm } = fields
    const read = decisionBody.safeParse({
      decision,
      digest,
      on,
      ...(reason.trim() === '' ? {} : { reason }),
      ...(decision === 'defer' ? { ttl_seconds: Number(ttl_seconds) } : {}),
    })
    if (!read.success) throw new AdminProblem('request_invalid', 'The form cannot be read.')
    if (read.data.decision === 'approve' && confirm !== 'yes') {
      const shown = await gate.read.document(approval)
      if (shown.state !== 'present' || mustTick(shown.document)) {
        const read = approval.holds === 'session' ? 'why it was stopped' : 'the arguments'
        throw new AdminProblem('request_invalid', `Tick that you have read ${read}.`)
      }
    }
    await decide(approval.approvalId, read.data, deciderOf(session.principal, 'session'), options)
  }

  /** The gate itself decides who may; this says it before a reason was written in vain. */
  function hindranceOf({ principal }: Session, approval: Approval): string | null {
    const { state, hitl, rung, votes } = approval
    if (state.kind !== 'pending') return 'There is nothing more to decide here.'
    if (haltFor(gate.read.halts(), approval) !== null) return new AdminProblem('frozen').message
    const asked = rolesAt(hitl, rung)
    if (!rolesOf(principal).some((role) => asked.includes(role))) {
      return `It was passed on: ${asked.join(', ')} are asked now.`
    }
    if (!meets('L1', hitl.min_assurance)) {
      return `This page knows you by L1; ${hitl.min_assurance} or better is needed.`
    }
    return gate.read.hasVoted(principal.name, { votes })
      ? 'You have approved; others are asked as well.'
      : null
  }

  router.use(answerPage)
  return router
}

function show(response: Response, text: string, framedBy: 'none' | 'self' = 'none'): void {
  response.set({
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': contentPolicy(framedBy),
    'x-frame-options': framedBy === 'self' ? 'SAMEORIGIN' : 'DENY',
    // The path is half of a credential: no other origin hears it. Our own forms keep their Origin.
    'referrer-policy': 'same-origin',
  })
  response.end(text)
}

/** Over TLS in front of this listener the browser says https, and the cookie stays there. */
const isSecure = (request: Request): boolean =>
  request.get('origin')?.startsWith('https://') === true

function setCookie(response: Response, session: Session, value: string, seconds: number): void {
  response.append('set-cookie', cookieFor(sessionPath(session), value, seconds, session.secure))
}

const answerPage: ErrorRequestHandler = (error: unknown, _, response, next) => {
  if (!(error instanceof AdminProblem) || response.headersSent) return next(error)
  const { status, title, detail } = problemDocument(error)
  const back =
    response.locals.session === undefined ? '/approvals' : sessionPath(sessionOf(response))
  show(response.status(status), problemPage(title, detail, back))
}
