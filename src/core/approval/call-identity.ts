import { canonicalOf } from '../json/build.js'
import type { Plain } from '../json/value.js'
import type { Args } from '../manifest/route/read-result.js'
import { argumentsOf } from './document.js'

/**
 * Which call a refusal is about: the tool and what was read of the call, not how it was spelt. Other headers,
 * keys, white space, member order or zeros behind a decimal point make no other call. The journal has a keyed
 * digest of it, so that small arguments cannot be guessed (promise 8).
 */
export const callText = (call: {
  readonly tool: string
  readonly args: Args
  readonly letThrough: Plain
}): string => {
  const { tool, args, letThrough } = call
  return canonicalOf({ tool, arguments: argumentsOf(args), let_through: letThrough })
}
