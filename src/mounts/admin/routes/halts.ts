import { z } from 'zod'
import { type HaltScope, sameScope } from '../../../gate/operate/halt.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import { AdminProblem } from '../problem.js'
import { type Admin, answering, json, route } from '../route.js'
import { name } from './schemas.js'

const KINDS = ['agent', 'session', 'tool', 'operator'] as const
const scope = z.union([
  z.strictObject({ kind: z.literal('all') }),
  z.strictObject({ kind: z.enum(KINDS), name }),
])
const state = z.strictObject({
  halts: z.array(scope),
  /** A halt that can match nothing this gate knows is told apart: in an emergency a typo is silence. */
  warning: z.string().nullable(),
})
const answers = answering(state)

export const haltList = route({
  method: 'get',
  path: '/v1/halts',
  summary: 'What is halted now.',
  roles: ADMIN_ROLES.filter((role) => role !== 'external_auditor'),
  answers,
  handle: (_, { gate }) => json({ halts: gate.read.halts(), warning: null }),
})

export const haltCreate = route({
  method: 'post',
  path: '/v1/halts',
  summary:
    'Halts an agent, a session, a tool, an operator or everything: journalled, then in force.',
  roles: ['operator'],
  body: z.strictObject({ scope }),
  answers,
  problems: ['record_unavailable'],
  async handle({ body, principal }, { gate }) {
    await gate.halt(body.scope, principal.name)
    return json({ halts: gate.read.halts(), warning: await matchesNothing(body.scope, gate) })
  },
})

export const haltDelete = route({
  method: 'delete',
  path: '/v1/halts',
  summary: 'Resumes what exactly this halt stopped; other halts stay.',
  roles: ['operator'],
  query: z.strictObject({
    kind: z.enum(['all', ...KINDS]),
    name: name.optional(),
  }),
  answers,
  problems: ['not_found', 'record_unavailable'],
  async handle({ query, principal }, { gate }) {
    const read = scope.safeParse(query)
    if (!read.success) throw new AdminProblem('request_invalid', 'query: kind and name disagree')
    if (!gate.read.halts().some((halt) => sameScope(halt, read.data))) {
      throw new AdminProblem('not_found', 'There is no such halt.')
    }
    await gate.resume(read.data, principal.name)
    return json({ halts: gate.read.halts(), warning: null })
  },
})

/** Agents and sessions are not all known beforehand (JWT, certificates); tools and the operator are. */
async function matchesNothing(halted: HaltScope, gate: Admin['gate']): Promise<string | null> {
  const world = gate.read.judges()
  if (halted.kind === 'operator' && halted.name !== world.operator) {
    return `this gate runs for operator ${world.operator}: the halt stops nothing here`
  }
  if (halted.kind === 'session' && (await gate.read.isOver(halted.name))) {
    return `session ${halted.name} is over: the halt stops nothing any more`
  }
  const tools = world.manifests.flatMap(({ manifest }) => manifest.rules.map(({ tool }) => tool))
  if (halted.kind === 'tool' && !tools.includes(halted.name)) {
    return `no manifest has a tool ${halted.name}: the halt stops nothing at present`
  }
  return null
}
