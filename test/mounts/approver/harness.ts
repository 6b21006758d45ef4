import { join } from 'node:path'
import { createToken } from '../../../src/adapters/identity/tokens.js'
import { type Answered, idsOf, type Plane, startPlane } from '../admin/harness.js'

export type Detail = {
  readonly approval_id: string
  readonly state: string
  readonly verdict: string | null
  readonly capsule_id: string
  readonly votes: number
  readonly document_digest: string
  readonly arguments_digest: string | null
  readonly shown: string | null
  readonly document: Record<string, unknown> | null
}

/** A refund that needs a human, and its document as an approver gets it. */
export async function waiting(plane: Plane, order = 'o-1', amount = '250.00'): Promise<Detail> {
  const { actionId } = idsOf(await plane.refund(amount, {}, order))
  return (await plane.ask('GET', `/v1/approvals/${actionId}`, { as: 'approver' })).json<Detail>()
}

export const detail = async (plane: Plane, id: string): Promise<Detail> =>
  (await plane.ask('GET', `/v1/approvals/${id}`, { as: 'approver' })).json<Detail>()

export const decision = (
  plane: Plane,
  { approval_id, document_digest }: Pick<Detail, 'approval_id' | 'document_digest'>,
  body: Record<string, unknown>,
  bearer = plane.tokens.approver,
): Promise<Answered> =>
  plane.ask('POST', `/v1/approvals/${approval_id}/decision`, {
    bearer,
    body: { digest: document_digest, ...body },
  })

export const tokenFor = (
  plane: Plane,
  name: string,
  more: { groups?: readonly string[]; machine?: true; role?: 'approver' | 'operator' } = {},
): string => {
  const { role = 'approver', groups = [], machine } = more
  return createToken(join(plane.rig.dir, 'data'), {
    role,
    name,
    groups,
    ...(machine === undefined ? {} : { machine }),
    now: new Date(),
  }).token
}

export { type Plane, startPlane }
