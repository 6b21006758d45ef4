import type { IncomingMessage } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { fromUtf8 } from '../../../core/bytes/text.js'
import { bytesDigest } from '../../../core/json/build.js'
import type { Decider } from '../../../gate/approval/decide/model.js'
import type { AdminTokens } from '../../../ports/admin.js'
import { type DecisionLimits, signedBy, within } from '../limits.js'
import { AdminProblem } from '../problem.js'
import { type Admin, answering, json, route } from '../route.js'
import { actionId, digest } from '../routes/schemas.js'
import {
  DECISION_PROBLEMS,
  type DecisionAnswer,
  decide,
  decisionAnswer,
  decisionBody,
} from './decide.js'
import { argumentsDigest, rolesOf } from './view.js'

/** An approval system that may deliver decisions. */
export type Source = {
  /** Read for every message; null when it cannot be had. */
  secret(): string | null
  readonly asserts_people: boolean
  /** The system's own id of a person → the name of an approver's token here. */
  readonly people: { readonly [id: string]: string }
  readonly roles: readonly string[]
}
export type Sources = {
  readonly byName: ReadonlyMap<string, Source>
  readonly tokens: Pick<AdminTokens, 'held'>
  readonly deliveries: Map<string, Delivery>
  readonly limits: DecisionLimits
}
type Delivery = { readonly body: string; readonly answer: Promise<DecisionAnswer> }

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
  answers: answering(decisionAnswer),
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
    const bytes = await readLimited(http)
    const body = fromUtf8(bytes)
    const read = delivery.safeParse(body === null ? null : parsed(body))
    // Before the signature is known to be right there is one answer to everything.
    const source = read.success ? sources.byName.get(read.data.source) : undefined
    if (!read.success || body === null || source === undefined) {
      throw new AdminProblem('unauthenticated')
    }
    const header = (name: string): string => http.get(name) ?? ''
    const id = header('webhook-id')
    if (!isSigned(body, header, source)) throw new AdminProblem('unauthenticated')
    const { source: name, approval_id, person, shown_digest, ...rest } = read.data
    signedBy(name, http)
    await within(sources.limits.source, http)
    const said = decisionBody.safeParse(rest)
    if (!said.success) throw new AdminProblem('request_invalid', z.prettifyError(said.error))
    const decider = deciderOf(name, source, person, sources)
    const sent = { key: `${name} ${id}`, body: bytesDigest(bytes, admin.crypto) }
    return json(
      await once(sent, sources.deliveries, async () => {
        if (decider.kind === 'person') await checkShown(approval_id, shown_digest, admin)
        return decide(approval_id, said.data, decider, admin)
      }),
    )
  },
})

const BODY_LIMIT = 64 * 1024

/** Whole and exact: what is signed is bytes, not a parsed value. */
async function readLimited(request: IncomingMessage): Promise<Uint8Array> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > BODY_LIMIT) throw new AdminProblem('too_large')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const SIGNATURE = ['webhook-id', 'webhook-timestamp', 'webhook-signature']

/** Five minutes either way, by the library; a signature of another version does not count. */
export function isSigned(
  body: string,
  header: (name: string) => string,
  { secret }: Pick<Source, 'secret'>,
): boolean {
  const key = secret()
  if (key === null) {
    throw new AdminProblem('record_unavailable', 'The secret of the source is gone.')
  }
  const headers = Object.fromEntries(SIGNATURE.map((name) => [name, header(name)]))
  try {
    new Webhook(key).verify(body, headers, { jsonParse: false })
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
  admin: Pick<Admin, 'gate' | 'crypto'>,
): Promise<void> {
  const approval = await admin.gate.read.approval(approvalId)
  // Whether there is such a request is for the decision to say.
  if (approval === null) return
  const found = await admin.gate.read.document(approval)
  if (found.state === 'present' && argumentsDigest(found.document, admin.crypto) === shownDigest)
    return
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
 * A system that vouches for people and names no known person is refused, not taken at its own word:
 * otherwise all members of the chat could approve.
 */
export function deciderOf(
  name: string,
  { asserts_people, people, roles }: Omit<Source, 'secret'>,
  person: string | undefined,
  { tokens }: Pick<Sources, 'tokens'>,
): Decider {
  if (!asserts_people) return { kind: 'machine', name, roles }
  const mapped = person !== undefined && Object.hasOwn(people, person) ? people[person] : undefined
  const known = [...tokens.held().values()].find(
    (holder) => holder?.role === 'approver' && holder.name === mapped && !holder.machine,
  )
  if (known === undefined || known === null) {
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
  { key, body }: { readonly key: string; readonly body: string },
  deliveries: Map<string, Delivery>,
  run: () => Promise<DecisionAnswer>,
): Promise<DecisionAnswer> {
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
