import type { Agent } from '../../core/call/agent.js'
import type { Plain } from '../../core/json/value.js'
import type { EvidencePart } from '../../ports/evidence.js'
import type { PolicyIntent, PolicyMandate, PolicyRequest } from '../../ports/policy.js'
import { CEDAR_RECORD } from '../govern/authorize.js'

/**
 * What policy was asked about an action, read from its evidence, with its agent as it is now and without an approval.
 * Null: the evidence does not say it all.
 */
export function askedBefore(
  parts: readonly EvidencePart[],
  { agent, roles, developer }: Agent,
): PolicyRequest | null {
  const part = parts.find(({ kind, name }) => kind === 'cedar' && name === CEDAR_RECORD)
  const request = member(part?.value, 'request')
  const principal = member(member(request, 'principal'), 'id')
  const action = member(member(request, 'action'), 'id')
  const resource = member(member(request, 'resource'), 'id')
  const context = member(request, 'context')
  const args = member(context, 'args')
  const idp = idpOf(member(context, 'idp'))
  const mandate = mandateOf(member(context, 'mandate'))
  const entities = member(request, 'entities')
  const tool = Array.isArray(entities)
    ? entities.find((entity) => member(member(entity, 'uid'), 'type') === 'Tool')
    : undefined
  const irreversibility = member(member(tool, 'attrs'), 'irreversibility')
  if (
    principal !== agent ||
    typeof action !== 'string' ||
    typeof resource !== 'string' ||
    typeof irreversibility !== 'string' ||
    typeof args !== 'object' ||
    idp === null ||
    mandate === null
  ) {
    return null
  }
  return {
    principal: agent,
    roles,
    developer,
    action,
    resource,
    irreversibility,
    args: args as PolicyRequest['args'],
    approval: { granted: false },
    ...(idp === undefined ? {} : { idp }),
    ...(mandate === undefined ? {} : { mandate }),
  }
}

/** Undefined: there was none. Null: it cannot be read. What is absent in Cedar's form was null when it was asked. */
function idpOf(asked: Plain | undefined): PolicyIntent | undefined | null {
  if (asked === undefined) return undefined
  const profile = member(asked, 'profile')
  const reasoning_type = textOrNull(member(member(asked, 'reasoning_basis'), 'type'))
  const confidence_level = textOrNull(
    member(member(member(asked, 'confidence_level'), '__extn'), 'arg'),
  )
  const hem_urgency = textOrNull(member(asked, 'hem_urgency'))
  const goal_id = textOrNull(member(asked, 'goal_id'))
  const mission_ref = textOrNull(member(asked, 'mission_ref'))
  if (profile !== 'IDP_STANDARD' && profile !== 'IDP_THIN') return null
  return { profile, reasoning_type, confidence_level, hem_urgency, goal_id, mission_ref }
}

function mandateOf(asked: Plain | undefined): PolicyMandate | undefined | null {
  if (asked === undefined) return undefined
  const id = member(asked, 'id')
  const issuer = member(asked, 'issuer')
  const depth = member(asked, 'depth')
  if (typeof id !== 'string' || typeof issuer !== 'string' || typeof depth !== 'number') return null
  return { id, issuer, mission_ref: textOrNull(member(asked, 'mission_ref')), depth }
}

const textOrNull = (value: Plain | undefined): string | null =>
  typeof value === 'string' ? value : null

const member = (value: Plain | undefined, name: string): Plain | undefined =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as { readonly [name: string]: Plain })[name]
    : undefined
