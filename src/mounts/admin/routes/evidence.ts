import { z } from 'zod'
import { type AbsentEvidence, describeAbsent } from '../../../gate/evidence/find.js'
import { readable } from '../../../gate/evidence/restricted.js'
import type { EvidencePart } from '../../../ports/evidence.js'
import { type AdminCode, AdminProblem } from '../problem.js'
import { answering, json, route } from '../route.js'
import { actionId, digest, name, time } from './schemas.js'

const recordId = z.union([actionId, digest])
const part = z.strictObject({
  digest,
  kind: z.string(),
  name: z.string().nullable(),
  /** JSON evidence. */
  value: z.unknown().optional(),
  /** Octets, base64. */
  bytes: z.string().optional(),
  /** Of a restricted declaration: for external auditors, in /v1/intents. */
  withheld: z.array(z.string()).optional(),
})

/** What the action's lines commit to and the store cannot show any more. */
const absent = z.strictObject({
  member: z.string(),
  digest,
  state: z.enum(['erased', 'missing', 'damaged']),
  /** The line that erased it. */
  line: z.strictObject({ seq: z.int(), at: time }).nullable(),
})

/** The one route that gives out private data: arguments, reasons, who decided (promise 8). */
export const evidenceByAction = route({
  method: 'get',
  path: '/v1/evidence/{action_id}',
  summary:
    'The private record of an action, or the part that a line names by its digest, decrypted. Without what ' +
    'restricted declarations say: `withheld` names it.',
  roles: ['auditor', 'operator'],
  params: z.strictObject({ action_id: recordId }),
  answers: answering({
    action_id: recordId,
    parts: z.array(part),
    absent: z.array(absent),
  }),
  problems: ['not_found', 'erased', 'evidence_missing', 'evidence_damaged'],
  async handle({ params }, { gate }) {
    const { action_id } = params
    const found = await gate.read.evidence(action_id)
    if (found.state === 'damaged') throw new AdminProblem('evidence_damaged', found.detail)
    const gone = await gate.read.absentEvidence(action_id)
    if (found.state === 'present') {
      return json({ action_id, parts: found.value.map((each) => shown(each)), absent: gone })
    }
    throw new AdminProblem(codeOf(found.state, gone), describeAbsent(action_id, gone))
  },
})

/** Missing, unless every digest that is gone was erased or none was due. */
function codeOf(state: 'erased' | 'missing', gone: readonly AbsentEvidence[]): AdminCode {
  if (gone.some((one) => one.state === 'missing')) return 'evidence_missing'
  return state === 'erased' ? 'erased' : 'not_found'
}

/** Without what a restricted declaration says, unless `all` is asked for by who may read it. */
export function shown(part: EvidencePart, all = false) {
  const { part: read, withheld } = all ? { part, withheld: [] } : readable(part)
  const { digest, kind, name, value, bytes } = read
  return {
    digest,
    kind,
    name: name ?? null,
    ...(value === undefined ? {} : { value }),
    ...(bytes === undefined ? {} : { bytes: Buffer.from(bytes).toString('base64') }),
    ...(withheld.length === 0 ? {} : { withheld }),
  }
}

export const evidenceErase = route({
  method: 'post',
  path: '/v1/evidence/erase',
  summary: 'Destroys the key of a subject, or of an operator and day. It cannot be undone.',
  roles: ['operator'],
  body: z.union([
    z.strictObject({ subject: name }),
    z.strictObject({ operator: name, day: z.iso.date() }),
  ]),
  answers: answering({ records: z.int() }),
  problems: ['record_unavailable'],
  async handle({ body, principal }, { gate }) {
    return json(await gate.erase(body, principal.name))
  },
})
