/** An agent that says in each call what it is about to do, and why. */
import { randomUUID } from 'node:crypto'

/** One session on one booking, whose steps count up. */
export function createAgent({ url, token, mandate, sessionId, booking }) {
  let step = 0
  const goal = { goal_id: randomUUID(), description: 'the guest has left: settle the booking' }

  // #region declare
  const declare = (action, reasoning, confidence, more = {}) => ({
    idp_id: randomUUID(),
    session_id: sessionId,
    so_id: mandate.soId,
    mandate_id: mandate.jti,
    step_sequence: ++step,
    requested_action: action,
    declared_goal: goal,
    reasoning_basis: reasoning,
    confidence_level: confidence,
    hem_urgency: 'NONE',
    timestamp: new Date().toISOString(),
    ...more,
  })
  // #endregion declare

  // #region send
  const send = async (method, path, intent, body) => {
    const answer = await fetch(`${url}/v1/bookings/${booking}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        'agent-mandate': mandate.jwt,
        'agent-intent': Buffer.from(JSON.stringify(intent)).toString('base64url'),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    return {
      status: answer.status,
      verdict: answer.headers.get('gate-verdict'),
      body: await answer.json(),
    }
  }
  // #endregion send

  return {
    declare,
    read: (intent) => send('GET', '', intent),
    close: (intent) => send('POST', '/close', intent),
    pay: (intent, payment) => send('POST', '/payments', intent, payment),
  }
}
