import type { CedarValue, PolicyRequest } from '../../ports.js'
import type { ActionShape } from './schema.js'
import { toCedar } from './values.js'

type Uid = { readonly type: string; readonly id: string }
type Entity = {
  readonly uid: Uid
  readonly attrs: { readonly [name: string]: string }
  readonly parents: readonly Uid[]
}
/** Cedar's own JSON form: kept as evidence, it can be replayed with any Cedar. */
export type CedarRequest = {
  readonly principal: Uid
  readonly action: Uid
  readonly resource: Uid
  readonly context: {
    readonly args: { readonly [name: string]: CedarValue }
    readonly approval: { readonly granted: boolean }
  }
  readonly entities: readonly Entity[]
}
export type Built =
  | { readonly ok: true; readonly request: CedarRequest }
  | {
      readonly ok: false
      readonly errorClass: 'args_invalid' | 'args_too_large' | 'request_invalid'
      readonly detail: string
    }

/** DESIGN §5: the full Cedar request is evidence of at most 64 KiB; more also grows wasm memory for good. */
const MAX_BYTES = 64 * 1024
const ILL_FORMED = /\p{Surrogate}/u

/**
 * Principal and resource are always among the entities: a policy that reads an attribute of an entity
 * that is not there errors, and a forbid that errors does not forbid. Role entities hold nothing, so
 * naming them as parents is enough for `principal in Role::"…"`.
 */
export function cedarRequest(shape: ActionShape, request: PolicyRequest): Built {
  const { principal, resource, developer, irreversibility } = request
  for (const id of [principal, resource, developer, irreversibility, ...request.roles]) {
    if (typeof id !== 'string' || ILL_FORMED.test(id)) {
      return refuse('request_invalid', 'an identifier is not well-formed text')
    }
  }
  if (typeof request.approval.granted !== 'boolean') {
    return refuse('request_invalid', 'approval.granted is not a boolean')
  }
  const args = cedarArgs(shape, request.args)
  if (!args.ok) return args
  const agent = { type: 'Agent', id: principal }
  const tool = { type: 'Tool', id: resource }
  const built: CedarRequest = {
    principal: agent,
    action: { type: 'Action', id: shape.action },
    resource: tool,
    context: { args: args.args, approval: { granted: request.approval.granted } },
    entities: [
      {
        uid: agent,
        attrs: { developer },
        parents: request.roles.map((id) => ({ type: 'Role', id })),
      },
      { uid: tool, attrs: { irreversibility }, parents: [] },
    ],
  }
  if (isTooLarge(JSON.stringify(built))) {
    return refuse('args_too_large', `args too large: the request exceeds ${MAX_BYTES} bytes`)
  }
  return { ok: true, request: built }
}

type Args =
  | { readonly ok: true; readonly args: { readonly [name: string]: CedarValue } }
  | Extract<Built, { ok: false }>

function cedarArgs(shape: ActionShape, given: PolicyRequest['args']): Args {
  const out: [string, CedarValue][] = []
  for (const { name, type, optional } of shape.args) {
    // Own members only: an argument called `constructor` is absent unless it was sent.
    const value: unknown = Object.hasOwn(given, name) ? given[name] : undefined
    if (value === undefined || value === null) {
      if (optional) continue
      return refuse('args_invalid', `argument ${JSON.stringify(name)} is missing`)
    }
    const converted = toCedar(type, value)
    if (!converted.ok) {
      return refuse('args_invalid', `argument ${JSON.stringify(name)} ${converted.why}`)
    }
    out.push([name, converted.value])
  }
  const declared = new Set(shape.args.map(({ name }) => name))
  if (Object.keys(given).some((name) => !declared.has(name))) {
    return refuse('args_invalid', 'an argument the action does not declare')
  }
  return { ok: true, args: Object.fromEntries(out) }
}

const refuse = (
  errorClass: Extract<Built, { ok: false }>['errorClass'],
  detail: string,
): Extract<Built, { ok: false }> => ({ ok: false, errorClass, detail })

/** A UTF-16 unit is at most three bytes of UTF-8, so the count is rarely needed. */
const isTooLarge = (json: string): boolean =>
  json.length > MAX_BYTES || (json.length * 3 > MAX_BYTES && Buffer.byteLength(json) > MAX_BYTES)
