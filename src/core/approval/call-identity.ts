import { canonicalOf } from '../json/build.js'
import type { Plain } from '../json/value.js'
import { keyedDigest } from '../keyed-digest.js'
import type { Args } from '../manifest/read-result.js'
import { argumentsOf } from './document.js'

/**
 * Which call a refusal is about, as the journal may say it: the tool and what was read of the call,
 * not how it was spelt. Other headers, keys, white space, member order or zeros behind a decimal point
 * make no other call. Keyed, so that small arguments cannot be guessed from it (promise 8).
 */
export const callIdentity = (
  call: { readonly tool: string; readonly args: Args; readonly letThrough: Plain },
  tenantSalt: string,
): string => {
  const { tool, args, letThrough } = call
  const text = canonicalOf({ tool, arguments: argumentsOf(args), let_through: letThrough })
  return keyedDigest(text, tenantSalt)
}
