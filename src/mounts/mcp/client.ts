import { isObject, type JsonObject } from '../../core/json/value.js'
import type { Request } from '../../core/mcp/message.js'
import { metaOf } from '../../core/mcp/meta.js'
import { isModern } from '../../core/mcp/methods.js'
import { abilitiesOf, type ClientAbilities } from './call/waiting.js'

/** What is known of a client; the modern era says it anew with each request. */
export type ClientKnown = {
  readonly modern: boolean
  /** The revision that is spoken; null before it is agreed on. */
  readonly version: string | null
  readonly abilities: ClientAbilities
}
export const NOT_YET_KNOWN: ClientKnown = {
  modern: false,
  version: null,
  abilities: { url: false, version: null },
}

export const PROTOCOL_VERSION = 'io.modelcontextprotocol/protocolVersion'
export const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'

/** What a request of the modern era says of its client; null for one of an earlier revision. */
export function toldBy({ params }: Request): ClientKnown | null {
  const meta = metaOf(params.value)
  const version = meta.get(PROTOCOL_VERSION)
  if (typeof version !== 'string' || !isModern(version)) return null
  return { modern: true, version, abilities: abilitiesOf(meta.get(CAPABILITIES), version) }
}

/** What client and server agreed on by `initialize`. */
export function initialized({ params }: Request, result: JsonObject): ClientKnown {
  const agreed = result.get('protocolVersion')
  const version = typeof agreed === 'string' ? agreed : null
  const capabilities = params.value.get('capabilities')
  return {
    modern: false,
    version,
    abilities: abilitiesOf(isObject(capabilities) ? capabilities : undefined, version),
  }
}
