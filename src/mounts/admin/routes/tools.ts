import { z } from 'zod'
import { fromUtf8 } from '../../../core/bytes/text.js'
import { GateError } from '../../../core/error.js'
import type { Gate } from '../../../gate/gate.js'
import { ADMIN_ROLES } from '../../../ports/admin.js'
import type { Evidence } from '../../../ports/evidence.js'
import type { Pin } from '../../../ports/state.js'
import { AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { digest, name } from './schemas.js'

const shown = z.strictObject({
  server: name,
  tool: name,
  /** `changed`: the server describes it otherwise; calls are refused unless the manifest says just that. */
  state: z.enum(['accepted', 'changed']),
  /** What it is held to. */
  definition: digest,
  /** What the server was last seen to describe it by, where that is another. */
  seen: digest.nullable(),
})
/** The canonical JSON as text: a reader's numbers might not be the server's. Null: the document is gone. */
const document = z.string().nullable()
const detail = shown.extend({
  documents: z.strictObject({ definition: document, seen: document }),
})
export type ToolShown = z.infer<typeof shown>
export type ToolDetail = z.infer<typeof detail>
const accepted = shown.extend({ recorded: z.boolean() })
export type ToolAccepted = z.infer<typeof accepted>

const params = z.strictObject({ server: name, tool: name })
const roles = ADMIN_ROLES.filter((role) => role !== 'external_auditor')

export const toolList = route({
  method: 'get',
  path: '/v1/tools',
  summary: 'The tools of MCP servers, and whether each is described as it was accepted.',
  roles,
  answers: answering({ tools: z.array(shown) }),
  handle: async (_, { gate }) => json({ tools: (await gate.read.pins()).map(shownPin) }),
})

export const toolById = route({
  method: 'get',
  path: '/v1/tools/{server}/{tool}',
  summary: 'How a tool was accepted, and how its server describes it now.',
  roles,
  params,
  answers: answering(detail),
  problems: ['not_found', 'evidence_damaged'],
  handle: async ({ params: { server, tool } }, { gate }) =>
    json(await detailOf(await pinned(server, tool, gate), gate.read.publicDocument)),
})

export const toolAccept = route({
  method: 'post',
  path: '/v1/tools/{server}/{tool}/accept',
  summary:
    'Accepts how the server describes the tool now: journalled, then calls of it are judged again.',
  roles: ['operator'],
  params,
  /** What the operator has looked at: if it changed meanwhile, nothing is accepted. */
  body: z.strictObject({ definition: digest }),
  answers: answering(accepted),
  problems: ['not_found', 'not_seen', 'record_unavailable'],
  async handle({ params: { server, tool }, body: { definition }, principal }, { gate }) {
    const done = await gate.acceptTool({ server, tool, definition, by: principal.name })
    if (done === 'unknown') throw notDescribed()
    if (done === 'not_seen') throw new AdminProblem('not_seen')
    const now = shownPin(await pinned(server, tool, gate))
    return json({ ...now, recorded: done === 'accepted' })
  },
})

const notDescribed = (): AdminProblem =>
  new AdminProblem('not_found', 'The server never described such a tool.')

async function pinned(server: string, tool: string, gate: Gate): Promise<Pin> {
  const pin = await gate.read.pin(server, tool)
  if (pin === null) throw notDescribed()
  return pin
}

export const shownPin = ({ server, tool, definition, changed }: Pin): ToolShown => ({
  server,
  tool,
  state: changed === null ? 'accepted' : 'changed',
  definition,
  seen: changed,
})

/** The pin with the descriptions behind its digests. */
export async function detailOf(pin: Pin, published: Evidence['getPublic']): Promise<ToolDetail> {
  const read = async (of: string | null): Promise<string | null> => {
    const bytes = of === null ? null : await published(of).catch(ifDamaged)
    return bytes === null ? null : fromUtf8(bytes)
  }
  const [definition, seen] = await Promise.all([read(pin.definition), read(pin.changed)])
  return { ...shownPin(pin), documents: { definition, seen } }
}

function ifDamaged(error: unknown): never {
  const isDamaged = error instanceof GateError && error.code === 'damaged'
  throw isDamaged ? new AdminProblem('evidence_damaged', error.message) : error
}
