import type { Call } from '../core/call.js'
import type { Identified } from '../ports.js'
import type { Opened, Parts } from './stage.js'

/** An action of its own from the first moment: id, clock, the world it will be judged in, and who claims to call. */
export async function open(call: Call, parts: Parts): Promise<Opened> {
  return {
    call,
    actionId: parts.ids.actionId(),
    at: parts.journal.timestamp(),
    world: parts.world(),
    identified: await identify(call, parts),
  }
}

async function identify(call: Call, parts: Parts): Promise<Identified> {
  try {
    return await parts.identity.identify(call.caller)
  } catch (error) {
    parts.report({ level: 'error', event: 'identity_failed', detail: String(error) })
    return { kind: 'unknown', why: 'identity_failed' }
  }
}
