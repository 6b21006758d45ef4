import { z } from 'zod'
import type { EvidencePart } from '../../ports.js'
import { AdminProblem } from './problem.js'
import { json, route } from './route.js'
import { actionId, digest, name } from './schemas.js'

const part = z.strictObject({
  digest,
  kind: z.string(),
  name: z.string().nullable(),
  /** JSON evidence. */
  value: z.unknown().optional(),
  /** Octets, base64. */
  bytes: z.string().optional(),
})

/** The one route that gives out private data: arguments, reasons, who decided (promise 8). */
export const evidenceByAction = route({
  method: 'get',
  path: '/v1/evidence/{action_id}',
  summary: 'The private record of an action, decrypted.',
  roles: ['auditor', 'operator'],
  params: z.strictObject({ action_id: actionId }),
  answers: {
    200: [
      {
        type: 'application/json',
        schema: z.strictObject({ action_id: actionId, parts: z.array(part) }),
      },
    ],
  },
  problems: ['not_found', 'erased', 'evidence_damaged'],
  async handle({ params }, { gate }) {
    const found = await gate.read.evidence(params.action_id)
    switch (found.state) {
      case 'present':
        return json({ action_id: params.action_id, parts: found.value.map(shown) })
      case 'missing':
        throw new AdminProblem('not_found', 'There is no evidence of this action.')
      case 'erased':
        throw new AdminProblem('erased')
      case 'damaged':
        throw new AdminProblem('evidence_damaged', found.detail)
    }
  },
})

export const shown = ({ digest, kind, name, value, bytes }: EvidencePart) => ({
  digest,
  kind,
  name: name ?? null,
  ...(value === undefined ? {} : { value }),
  ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes).toString('base64') }),
})

export const evidenceErase = route({
  method: 'post',
  path: '/v1/evidence/erase',
  summary: 'Destroys the key of a subject, or of an operator and day. It cannot be undone.',
  roles: ['operator'],
  body: z.union([
    z.strictObject({ subject: name }),
    z.strictObject({ operator: name, day: z.iso.date() }),
  ]),
  answers: {
    200: [{ type: 'application/json', schema: z.strictObject({ records: z.int() }) }],
  },
  problems: ['record_unavailable'],
  async handle({ body, principal }, { gate }) {
    if (principal === null) throw new AdminProblem('unauthenticated')
    return json(await gate.erase(body, principal.name))
  },
})
