import type { PolicyRequest } from '../../../ports/policy.js'
import type { ActionShape } from '../schema.js'
import { type CedarIntent, cedarIntent } from './intent.js'
import { isWellFormed, toCedar } from './values.js'

type Uid = { readonly type: string; readonly id: string }
/** Lists are not `readonly` here, because Cedar's own types are not; nothing changes them. */
type Entity = {
  readonly uid: Uid
  readonly attrs: Record<string, string>
  readonly parents: Uid[]
}
/** What an argument becomes: never an entity, and no extension but a decimal. */
export type CedarArgument =
  | string
  | boolean
  | number
  | { __extn: { fn: string; arg: string } }
  | CedarArgument[]
/** Cedar's own JSON form: kept as evidence, it can be replayed with any Cedar. */
export type CedarRequest = {
  readonly principal: Uid
  readonly action: Uid
  readonly resource: Uid
  readonly context: {
    readonly args: Record<string, CedarArgument>
    readonly approval: { readonly granted: boolean }
  } & CedarIntent
  readonly entities: Entity[]
}
type Refused = {
  readonly ok: false
  readonly errorClass: 'args_invalid' | 'args_too_large' | 'request_invalid'
  readonly detail: string
}
export type Built = { readonly ok: true; readonly request: CedarRequest } | Refused

/** DESIGN §5: the full Cedar request is evidence of at most 64 KiB; more also grows wasm memory for good. */
const MAX_BYTES = 64 * 1024

/**
 * Principal and resource are always among the entities: a policy that reads an attribute of an entity
 * that is not there errors, and a forbid that errors does not forbid. Role entities hold nothing, so
 * naming them as parents is enough for `principal in Role::"…"`.
 */
export function cedarRequest(shape: ActionShape, request: PolicyRequest): Built {
  const { principal, resource, developer, irreversibility, roles } = request
  const ids = [principal, resource, developer, irreversibility, ...roles]
  if (!ids.every(isText)) return refuse('request_invalid', 'an identifier is not well-formed text')
  const { granted } = request.approval
  if (typeof granted !== 'boolean') {
    return refuse('request_invalid', 'approval.granted is not a boolean')
  }
  const args = cedarArgs(shape, request.args)
  if (!args.ok) return args
  const intent = cedarIntent(shape.intent, request)
  if (!intent.ok) return refuse('request_invalid', intent.why)
  // Names in order throughout: as evidence the request is written canonically.
  const agent = { id: principal, type: 'Agent' }
  const tool = { id: resource, type: 'Tool' }
  const built: CedarRequest = {
    action: { id: shape.action, type: 'Action' },
    context: { approval: { granted }, args: args.args, ...intent.context },
    entities: [
      { attrs: { developer }, parents: roles.map(roleUid), uid: agent },
      { attrs: { irreversibility }, parents: [], uid: tool },
    ],
    principal: agent,
    resource: tool,
  }
  if (isTooLarge(built)) {
    return refuse('args_too_large', `args too large: the request exceeds ${MAX_BYTES} bytes`)
  }
  return { ok: true, request: built }
}

const isText = (id: unknown): boolean => typeof id === 'string' && isWellFormed(id)
const roleUid = (id: string): Uid => ({ id, type: 'Role' })

function cedarArgs(
  shape: ActionShape,
  given: PolicyRequest['args'],
): { readonly ok: true; readonly args: CedarRequest['context']['args'] } | Refused {
  // Plain assignment is safe: no action has an argument whose name begins with two underscores.
  const args: Record<string, CedarArgument> = {}
  let known = 0
  for (const { name, type, optional } of shape.args) {
    // Own members only: an argument called `constructor` is absent unless it was sent.
    const own = Object.hasOwn(given, name)
    if (own) known++
    const value: unknown = own ? given[name] : undefined
    if (value === undefined || value === null) {
      if (optional) continue
      return refuse('args_invalid', `argument ${JSON.stringify(name)} is missing`)
    }
    const converted = toCedar(type, value)
    if (!converted.ok) {
      return refuse('args_invalid', `argument ${JSON.stringify(name)} ${converted.why}`)
    }
    args[name] = converted.value
  }
  if (Object.keys(given).length > known) {
    return refuse('args_invalid', 'an argument the action does not declare')
  }
  return { ok: true, args }
}

const refuse = (errorClass: Refused['errorClass'], detail: string): Refused => ({
  ok: false,
  errorClass,
  detail,
})

/** Only what might be too large is written out to be measured: that costs more than all the rest. */
function isTooLarge(request: CedarRequest): boolean {
  return mostBytes(request) > MAX_BYTES && Buffer.byteLength(JSON.stringify(request)) > MAX_BYTES
}

/** In JSON a UTF-16 unit is at most six bytes (an escape); around each value stand a few more. */
function mostBytes(value: unknown): number {
  if (typeof value === 'string') return 6 * value.length + 4
  if (typeof value !== 'object' || value === null) return 32
  let sum = 4
  if (Array.isArray(value)) for (const element of value) sum += mostBytes(element)
  else
    for (const name in value)
      sum += 6 * name.length + 4 + mostBytes(value[name as keyof typeof value])
  return sum
}
