import { nodeCrypto } from '../../src/adapters/crypto-node.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import type { Declared } from '../../src/core/intent/model.js'
import { objectIdOf } from '../../src/core/intent/object-id.js'
import type { DECLARE_ROWS } from '../../src/core/verdict/intent-rows.js'
import { recordActor } from '../../src/gate/operate/actor.js'
import { signed } from '../../src/gate/signed-event.js'
import { tool } from './approvals.js'
import { AGENT, type Claims, carried, MISSION, mandateIssuer, stepsOf } from './intents.js'
import { httpCall, mcpCall } from './manifests.js'
import { SERVER } from './mcp/messages.js'
import { OTHER_TOKEN, type RigOptions, TOKEN } from './rig.js'

/** How each row of the stage `declare` is made to happen: tools that ask for a declaration, and calls with a fault. */
export type IntentScenario = {
  readonly call: HttpCall
  readonly first?: readonly { readonly call: HttpCall }[]
  /** What an operator, or another call, has done meanwhile. */
  readonly before?: (gate: RunningGate) => Promise<void>
}

export const OBJECT = `object:
  type: order
  id: order
  states: [open, settled]
  transitions:
    settle: {from: open, to: settled}
`
export const INTENT_TOOLS = `  settle:
    match: POST /v1/settlements
    args: {order: string}
    intent: required
    thin: refuse
  look_up:
    match: POST /v1/lookups
    args: {order: string}
    intent: required
    cross_principal: refuse
`
const TARGETS = { settle: '/v1/settlements', look_up: '/v1/lookups' } as const
type Action = keyof typeof TARGETS

const issuer = mandateIssuer()
const UNREACHABLE = 'https://nobody-home.example'
const unreachable = mandateIssuer(UNREACHABLE)
/** What a rig needs for these tools. Declarations are made when the file loads, and sent whenever their turn comes. */
export const WITH_INTENT: Pick<RigOptions, 'mandateIssuers' | 'intents'> = {
  mandateIssuers: {
    ...issuer.options,
    issuers: [
      ...issuer.options.issuers,
      ...unreachable.options.issuers.map((one) => ({
        ...one,
        jwks: { kind: 'remote' as const, url: 'https://127.0.0.1:1/keys' },
      })),
    ],
  },
  intents: { skewSeconds: 3600 },
}

/** In what the agent and its principal say of themselves; never in the open. */
const SECRET = 'zq7-private'

/** Steps of a session on one order, under a mandate of its own. */
export function stepsOn(order: string, claims: Claims = {}, by = issuer, agent = AGENT) {
  const args = new Map([['order', { type: 'string' as const, value: order }]])
  const so_id = objectIdOf({ type: 'order', id: '{order}' }, args, nodeCrypto) ?? ''
  const steps = stepsOf(by, {
    agent,
    claims: {
      so_id,
      so_type: 'order',
      cedar_actions: ['settle', 'look_up'],
      human_principal_id: `alice-${SECRET}`,
      ...claims,
    },
  })
  const goal = { goal_id: steps.jti, description: `settle the order ${SECRET}` }
  return {
    ...steps,
    standard: (action: Action, more: Claims = {}): Claims =>
      steps.standard(action, { so_id, declared_goal: goal, ...more }),
    soId: so_id,
    thin: (action: Action, more: Claims = {}): Claims => steps.thin(action, { so_id, ...more }),
  }
}

export const orderCall = (
  action: Action,
  order: string,
  declared?: Declared,
  bearer = TOKEN,
): HttpCall =>
  httpCall(
    'POST',
    TARGETS[action],
    { order },
    {
      caller: { bearer, certificate: null, asserted: null, source: '127.0.0.1' },
      ...(declared === undefined ? {} : { declared }),
    },
  )

type Steps = ReturnType<typeof stepsOn>
/** Ends beyond `declare`: policy denies what was declared, and an agent that demands a person. */
export const DECLARED: Readonly<Record<'policy_denied' | 'approval_pending', IntentScenario>> = {
  policy_denied: (() => {
    const order = `o-${SECRET}`
    const steps = stepsOn(order, {}, issuer, 'other-bot')
    const intent = steps.standard('look_up')
    return { call: orderCall('look_up', order, carried(intent, steps.mandate), OTHER_TOKEN) }
  })(),
  approval_pending: (() => {
    const order = `o-${SECRET}`
    const steps = stepsOn(order)
    const intent = steps.standard('look_up', { hem_urgency: 'REQUIRED' })
    return { call: orderCall('look_up', order, carried(intent, steps.mandate)) }
  })(),
}

type Made = (steps: Steps) => Claims | null
let orders = 0
/** A call with one declaration, in a session of its own. */
function declared(
  made: Made,
  { action = 'look_up' as Action, claims = {} as Claims } = {},
): IntentScenario {
  const order = `o-${SECRET}-${++orders}`
  const steps = stepsOn(order, claims)
  return { call: orderCall(action, order, carried(made(steps), steps.mandate)) }
}
/** The same, after an earlier step of that session. */
function after(
  earlier: Made,
  made: Made,
  before?: (gate: RunningGate, steps: Steps) => Promise<void>,
): IntentScenario {
  const order = `o-${SECRET}-${++orders}`
  const steps = stepsOn(order)
  const step = (intent: Claims | null): HttpCall =>
    orderCall('look_up', order, carried(intent, steps.mandate))
  const first = [{ call: step(earlier(steps)) }]
  const last = { call: step(made(steps)), first }
  return before === undefined ? last : { ...last, before: (gate) => before(gate, steps) }
}
/** A call about an order that was settled meanwhile, on behalf of somebody. */
function settledBy(principal: string, action: Action): IntentScenario {
  const order = `o-${SECRET}-${++orders}`
  const other = stepsOn(order, { human_principal_id: principal })
  const settling = orderCall('settle', order, carried(other.standard('settle'), other.mandate))
  const own = stepsOn(order)
  return {
    call: orderCall(action, order, carried(own.standard(action), own.mandate)),
    before: (gate) => settle(gate, settling, order),
  }
}

async function settle(gate: RunningGate, made: HttpCall, order: string): Promise<void> {
  const { caller, declared: what } = made
  const overMcp = gate.parts.world().router.byServer.size > 0
  const how = overMcp
    ? mcpCall(
        SERVER,
        'settle',
        { order },
        { caller, ...(what === undefined ? {} : { declared: what }) },
      )
    : { ...made, tool: 'settle' }
  const { kind } = await gate.govern(how, tool().dispatch)
  if (kind !== 'executed') throw new Error(`the order was not settled: ${kind}`)
}

const standard: Made = (steps) => steps.standard('look_up')
const withMore =
  (more: Claims): Made =>
  (steps) =>
    steps.standard('look_up', more)
/** An instruction would have to name its mandate. */
export const BY_RULE = { type: 'RULE_BASED', description: 'orders are looked up first' }
export const ELSE = '3f1c9a52-7f1e-4c8e-9d53-0c5a6e1f2b90'

/** An operator's lines, as their controls write them. */
export async function operatorSays(
  { parts }: RunningGate,
  line:
    | { readonly type: 'MANDATE_REVOKED'; readonly mandate_id: string }
    | { readonly type: 'MISSION_SET'; readonly mission_ref: string }
    | { readonly type: 'SESSION_CLOSED'; readonly session_id: string },
): Promise<void> {
  const who = await recordActor('olga', { did: line.type }, parts)
  const entry = (() => {
    switch (line.type) {
      case 'MANDATE_REVOKED':
        return signed(line.type, { mandate_id: line.mandate_id, ...who }, parts)
      case 'MISSION_SET':
        return signed(
          line.type,
          { mission_ref: line.mission_ref, phase: 'SUSPENDED', ...who },
          parts,
        )
      case 'SESSION_CLOSED':
        return signed(line.type, { session_id: line.session_id, reason: 'operator', ...who }, parts)
    }
  })()
  await parts.journal.append([entry])
}

const MISSION_CLAIM = { claims: { mission_ref: MISSION } }

export const INTENT_SCENARIOS: Readonly<Record<keyof typeof DECLARE_ROWS, IntentScenario>> = {
  mandate_missing: { call: orderCall('look_up', `o-${SECRET}`) },
  mandate_invalid: declared(standard, { claims: { aud: 'urn:somebody-else' } }),
  mandate_unverifiable: (() => {
    const steps = stepsOn(`o-${SECRET}`, {}, unreachable)
    return { call: orderCall('look_up', `o-${SECRET}`, carried(standard(steps), steps.mandate)) }
  })(),
  mandate_revoked: after(standard, standard, (gate, { jti }) =>
    operatorSays(gate, { type: 'MANDATE_REVOKED', mandate_id: jti }),
  ),
  intent_missing: declared(() => null),
  intent_malformed: declared(withMore({ confidence_level: 2 })),
  intent_thin_refused: declared((steps) => steps.thin('settle'), { action: 'settle' }),
  intent_duplicate: after(withMore({ idp_id: ELSE }), withMore({ idp_id: ELSE })),
  intent_object_mismatch: declared(withMore({ so_id: ELSE })),
  intent_mandate_mismatch: declared(withMore({ mandate_id: ELSE, reasoning_basis: BY_RULE })),
  intent_session_mismatch: declared(withMore({ session_id: 'another-session' })),
  intent_step_stale: after(withMore({ step_sequence: 7 }), withMore({ step_sequence: 7 })),
  intent_mission_mismatch: declared(withMore({ mission_ref: ELSE }), MISSION_CLAIM),
  session_over: after(standard, standard, (gate, { sessionId }) =>
    operatorSays(gate, { type: 'SESSION_CLOSED', session_id: sessionId }),
  ),
  session_pending: after(withMore({ hem_urgency: 'REQUIRED' }), standard),
  mission_invalid: {
    ...declared(withMore({ mission_ref: MISSION }), MISSION_CLAIM),
    before: (gate) => operatorSays(gate, { type: 'MISSION_SET', mission_ref: MISSION }),
  },
  object_state_invalid: settledBy(`alice-${SECRET}`, 'settle'),
  mandate_scope: declared(standard, { claims: { cedar_actions: ['settle'] } }),
  cross_principal: settledBy(`bob-${SECRET}`, 'look_up'),
}
