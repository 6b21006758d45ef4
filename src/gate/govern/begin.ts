import type { Call, Caller } from '../../core/call/call.js'
import type { Identified } from '../../ports/identity.js'
import type { Begun, Parts, Recognized } from '../context.js'
import { type Refused, refuse } from './exit.js'

/** A new action: its id, its time, the world it will be judged in, and who the credentials say is calling. */
export const begin = (call: Call, identified: Identified, parts: Parts): Begun => ({
  call,
  actionId: parts.ids.actionId(),
  at: parts.journal.timestamp(),
  world: parts.world(),
  identified,
})

/** Who the credentials say is calling, at once where the identity answers at once. A failed look-up is unknown. */
export function identify(caller: Caller, parts: Parts): Identified | Promise<Identified> {
  const failed = (error: unknown): Identified => {
    parts.report({ level: 'error', event: 'identity_failed', detail: String(error) })
    return { kind: 'unknown', why: 'identity_failed' }
  }
  try {
    const found = parts.identity.identify(caller)
    return found instanceof Promise ? found.catch(failed) : found
  } catch (error) {
    return failed(error)
  }
}

/** Unknown callers leave before anything of their call is read, so that the answer discloses nothing. */
export function recognize(begun: Begun): Recognized | Refused {
  const { identified } = begun
  return isRecognized(begun)
    ? begun
    : refuse(begun, 'unauthenticated', { observed: 'why' in identified ? identified.why : '' })
}

const isRecognized = (begun: Begun): begun is Recognized => begun.identified.kind === 'known'
