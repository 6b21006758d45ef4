import { z } from 'zod'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem, problemDocument } from '../problem.js'
import { answering, json, route } from '../route.js'
import { problem } from './schemas.js'

export const livez = route({
  method: 'get',
  path: '/livez',
  summary: 'The process answers; says nothing else, and needs no token.',
  roles: 'anyone',
  answers: answering({ status: z.literal('ok') }),
  handle: () => json({ status: 'ok' }),
})

const check = z.strictObject({ name: z.string(), ok: z.boolean(), detail: z.string().nullable() })

export const readyz = route({
  method: 'get',
  path: '/readyz',
  summary: 'Should calls be sent here? 503 names what fails; `?verbose` names every check.',
  roles: ADMIN_ROLES,
  query: z.strictObject({ verbose: z.string().optional() }),
  answers: {
    ...answering({ ready: z.literal(true), checks: z.array(check).optional() }),
    ...answering(problem.extend({ ready: z.literal(false), checks: z.array(check) }), 503),
  },
  async handle({ query }, { readiness }) {
    const checks = await readiness()
    const failing = checks.filter(({ ok }) => !ok)
    const verbose = query.verbose !== undefined
    if (failing.length === 0) return json({ ready: true, ...(verbose ? { checks } : {}) })
    const detail = failing.map((check) => `${check.name}: ${check.detail ?? 'failed'}`).join('; ')
    const document = problemDocument(new AdminProblem('not_ready', detail))
    return json({ ...document, ready: false, checks: verbose ? checks : failing }, 503)
  },
})
