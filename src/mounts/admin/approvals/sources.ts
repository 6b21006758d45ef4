import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { nodeCrypto } from '../../../adapters/crypto-node.js'
import type { SourceConfig } from '../../../config/model.js'
import { readSecret } from '../../../config/secret-ref.js'
import { hex } from '../../../core/bytes/hex.js'
import { fromUtf8 } from '../../../core/bytes/text.js'
import type { Decider } from '../../../gate/approval/decide/model.js'
import type { AdminTokens } from '../authenticate.js'
import { readLimited } from '../body.js'
import {
  DECISIONS_PER_MINUTE,
  type DecisionLimits,
  decisionLimits,
  signedBy,
  within,
} from '../decision-limits.js'
import { AdminProblem } from '../problem.js'
import { type Admin, json, type Principal, route } from '../route.js'
import { actionId, digest } from '../routes/schemas.js'
import {
  DECISION_PROBLEMS,
  type DecisionAnswer,
  decide,
  decisionAnswer,
  decisionBody,
} from './decide.js'
import { argumentsDigest, rolesOf } from './view.js'

export type Sources = {
  readonly byName: ReadonlyMap<string, SourceConfig>
  readonly env: Readonly<Record<string, string | undefined>>
  /** Those who hold an approver's token now, by name. */
  readonly approver: (name: string) => Principal | null
  readonly deliveries: Map<string, Delivery>
  readonly limits: DecisionLimits
}
type Delivery = { readonly body: string; readonly answer: Promise<DecisionAnswer> }

export const createSources = (
  sources: { readonly [name: string]: SourceConfig },
  tokens: AdminTokens,
  env: Sources['env'],
  perMinute = DECISIONS_PER_MINUTE,
): Sources => ({
  byName: new Map(Object.entries(sources)),
  env,
  limits: decisionLimits(perMinute),
  approver(name) {
    for (const principal of tokens().values()) {
      if (principal?.role === 'approver' && principal.name === name && !principal.machine) {
        return principal
      }
    }
    return null
  },
  deliveries: new Map(),
})

const delivery = z.looseObject({
  source: z.string().max(64),
  approval_id: actionId,
  /** The system's own id of the person who decided. */
  person: z.string().min(1).max(256).optional(),
  /** `arguments_digest` of what that person was shown; sent by a system that has shown it. */
  shown_digest: digest.optional(),
})

/**
 * Decisions from approval systems (chat, ticketing), signed as Standard Webhooks 1.0. The signature
 * says which system speaks; whether a person spoke through it is the configuration's word.
 */
export const decisionDelivery = route({
  method: 'post',
  path: '/v1/decisions',
  summary:
    'A decision from a registered approval system: webhook-id, webhook-timestamp and webhook-signature ' +
    'instead of a token; the body is that of a decision plus source, approval_id, person and, where the ' +
    'system vouches for people, shown_digest: the arguments_digest of what the person was shown.',
  roles: 'anyone',
  answers: { 200: [{ type: 'application/json', schema: decisionAnswer }] },
  problems: [
    'unauthenticated',
    'too_many_requests',
    'too_large',
    'delivery_reused',
    'not_shown',
    ...DECISION_PROBLEMS,
  ],
  async handle({ http }, admin) {
    const { sources } = admin
    if (sources === undefined) throw new AdminProblem('unauthenticated')
    await within(sources.limits.peer, http)
    const bytes = await readLimited(http, BODY_LIMIT)
    const body = fromUtf8(bytes)
    const read = delivery.safeParse(body === null ? null : parsed(body))
    // Before the signature is known to be right there is one answer to everything.
    const source = read.success ? sources.byName.get(read.data.source) : undefined
    if (!read.success || body === null || source === undefined) {
      throw new AdminProblem('unauthenticated')
    }
    const header = (name: string): string => http.get(name) ?? ''
    const id = header('webhook-id')
    if (!isSigned(body, header, source, sources.env)) throw new AdminProblem('unauthenticated')
    const { source: name, approval_id, person, shown_digest, ...rest } = read.data
    signedBy(name, http)
    await within(sources.limits.source, http)
    const said = decisionBody.safeParse(rest)
    if (!said.success) throw new AdminProblem('request_invalid', z.prettifyError(said.error))
    const decider = deciderOf(name, source, person, sources)
    return json(
      await once(`${name} ${id}`, bytes, sources.deliveries, async () => {
        if (decider.kind === 'person') await checkShown(approval_id, shown_digest, admin)
        return decide(approval_id, said.data, decider, admin)
      }),
    )
  },
})

const BODY_LIMIT = 64 * 1024

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

/** Five minutes either way, by the library; a signature of another version does not count. */
export function isSigned(
  body: string,
  header: (name: string) => string,
  { secret }: SourceConfig,
  env: Sources['env'],
): boolean {
  const key = readSecret(secret, env)
  if (!key.ok) throw new AdminProblem('record_unavailable', 'The secret of the source is gone.')
  try {
    new Webhook(key.value).verify(
      body,
      {
        'webhook-id': header('webhook-id'),
        'webhook-timestamp': header('webhook-timestamp'),
        'webhook-signature': header('webhook-signature'),
      },
      { jsonParse: false },
    )
    return true
  } catch {
    return false
  }
}

/**
 * A person decides on what they read. A system that did not show the arguments is not heard for a person,
 * and not for itself either: it can show them, or link to the page that does (promise 4).
 */
async function checkShown(
  approvalId: string,
  shownDigest: string | undefined,
  admin: Pick<Admin, 'gate'>,
): Promise<void> {
  const approval = await admin.gate.read.approval(approvalId)
  // Whether there is such a request is for the decision to say.
  if (approval === null) return
  const found = await admin.gate.read.document(approval)
  if (found.state === 'present' && argumentsDigest(found.document) === shownDigest) return
  const what =
    shownDigest === undefined
      ? 'The decision has no shown_digest.'
      : 'The shown_digest is not that of the arguments this request asks about.'
  throw new AdminProblem(
    'not_shown',
    `${what} Show the person every argument of GET /v1/approvals/${approvalId} and send its ` +
      'arguments_digest as shown_digest, or link them to the page of the request.',
  )
}

/**
 * A person only if the system vouches for people and names one who holds an approver's token now (L2).
 * A system that vouches for people and names nobody known is refused, not taken at its own word:
 * otherwise everybody in the chat could approve.
 */
export function deciderOf(
  name: string,
  { asserts_people, people, roles }: SourceConfig,
  person: string | undefined,
  { approver }: Sources,
): Decider {
  if (!asserts_people) return { kind: 'machine', name, roles }
  const mapped = person !== undefined && Object.hasOwn(people, person) ? people[person] : undefined
  const known = mapped === undefined ? null : approver(mapped)
  if (known === null) {
    throw new AdminProblem('not_asked', 'The person named is no approver here.')
  }
  return {
    kind: 'person',
    name: known.name,
    roles: rolesOf(known),
    assurance: 'L2',
    via: `source ${name}`,
  }
}

const MOST_DELIVERIES = 10_000

/**
 * A delivery repeated gets the first answer. Remembered in memory for as long as a signature is valid:
 * afterwards, and after a restart, the state of the approval answers a repetition the same way.
 */
async function once(
  key: string,
  bytes: Uint8Array,
  deliveries: Map<string, Delivery>,
  run: () => Promise<DecisionAnswer>,
): Promise<DecisionAnswer> {
  const body = hex(nodeCrypto.sha256(bytes))
  const before = deliveries.get(key)
  if (before !== undefined) {
    if (before.body !== body) throw new AdminProblem('delivery_reused')
    return { ...(await before.answer), repeated: true }
  }
  const answer = run()
  deliveries.set(key, { body, answer })
  for (const oldest of deliveries.keys()) {
    if (deliveries.size <= MOST_DELIVERIES) break
    deliveries.delete(oldest)
  }
  try {
    return await answer
  } catch (error) {
    // A refusal may end (halt, busy, disk): the next delivery is judged anew.
    deliveries.delete(key)
    throw error
  }
}
