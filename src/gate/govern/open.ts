import type { Call, Caller } from '../../core/call/call.js'
import type { Identified } from '../../ports/identity.js'
import type { Opened, Parts, Recognized } from '../context.js'
import { type Refused, refuse } from './exit.js'

/** An action of its own from the first moment: id, clock, the world it will be judged in, and who claims to call. */
export const open = (call: Call, identified: Identified, parts: Parts): Opened => ({
  call,
  actionId: parts.ids.actionId(),
  at: parts.journal.timestamp(),
  world: parts.world(),
  identified,
})

/** Who the credentials say is calling. An identity that cannot be looked up is not known. */
export function identify(caller: Caller, parts: Parts): Identified | Promise<Identified> {
  try {
    const found = parts.identity.identify(caller)
    return found instanceof Promise ? found.catch((error) => failed(error, parts)) : found
  } catch (error) {
    return failed(error, parts)
  }
}

function failed(error: unknown, parts: Parts): Identified {
  parts.report({ level: 'error', event: 'identity_failed', detail: String(error) })
  return { kind: 'unknown', why: 'identity_failed' }
}

/** Strangers leave before anything of their call is looked at: the answer tells them nothing about it. */
export function recognize(opened: Opened): Recognized | Refused {
  if (isRecognized(opened)) return opened
  const { identified } = opened
  const observed = identified.kind === 'unknown' ? identified.why : ''
  return refuse(opened, 'unauthenticated', { observed })
}

const isRecognized = (opened: Opened): opened is Recognized => opened.identified.kind === 'known'
