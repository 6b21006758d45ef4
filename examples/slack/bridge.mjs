/**
 * Between the gate and Slack: notifications become messages with two buttons, and a pressed button
 * becomes a decision at the gate. Both sides are authenticated by signature; the bridge itself decides nothing.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

const WINDOW_SECONDS = 300
const MAX_BODY = 64 * 1024

// #region slack-signature
/** Slack signs `v0:timestamp:raw body`; an old request is a replayed one. */
export function isFromSlack({ headers, body }, signingSecret, now = Date.now()) {
  const timestamp = headers['x-slack-request-timestamp'] ?? ''
  const given = Buffer.from(headers['x-slack-signature'] ?? '')
  if (!/^\d{1,12}$/.test(timestamp)) return false
  if (Math.abs(now / 1000 - Number(timestamp)) > WINDOW_SECONDS) return false
  const mac = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex')
  const expected = Buffer.from(`v0=${mac}`)
  return given.length === expected.length && timingSafeEqual(given, expected)
}
// #endregion slack-signature

/** `postMessage` is Slack's chat.postMessage; `adminUrl` the gate's admin plane. */
export function createBridge(options) {
  const { signingSecret, webhookSecret, sourceSecret, source, adminUrl, postMessage } = options
  const seen = new Set()

  async function fromGate({ headers, body }) {
    try {
      new Webhook(webhookSecret).verify(body, headers)
    } catch {
      return [401]
    }
    // The gate delivers at least once: the id tells a repetition.
    if (seen.has(headers['webhook-id'])) return [204]
    const { type, data } = JSON.parse(body)
    await postMessage(type === 'approval.requested' ? question(data) : { text: news(type, data) })
    seen.add(headers['webhook-id'])
    return [204]
  }

  async function fromSlack(request) {
    if (!isFromSlack(request, signingSecret)) return [401]
    const { type, user, actions } = JSON.parse(new URLSearchParams(request.body).get('payload'))
    const [pressed] = actions ?? []
    if (type !== 'block_actions' || !['approve', 'deny'].includes(pressed?.action_id)) return [400]
    const answer = await decide(user.id, pressed)
    const { state, detail } = await answer.json()
    return [200, { text: answer.ok ? `It is ${state}.` : `Not recorded: ${detail}` }]
  }

  // #region decide
  /** Signed as Standard Webhooks; the id follows from the press, so that Slack's retry is no second vote. */
  function decide(person, { action_id: decision, action_ts, value }) {
    const { approval_id, digest } = JSON.parse(value)
    const press = [approval_id, person, decision, action_ts].join(' ')
    const id = `msg_${createHash('sha256').update(press).digest('hex').slice(0, 32)}`
    const reason = decision === 'deny' ? { reason: 'refused in Slack' } : {}
    const body = JSON.stringify({ source, person, approval_id, decision, digest, ...reason })
    const at = new Date()
    return fetch(`${adminUrl()}/v1/decisions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
        'webhook-signature': new Webhook(sourceSecret).sign(id, at, body),
      },
      body,
    })
  }
  // #endregion decide

  return async (req, res) => {
    const [status, answer] = await read(req)
      .then((body) => {
        const request = { headers: req.headers, body }
        if (req.method === 'POST' && req.url === '/gate') return fromGate(request)
        return req.method === 'POST' && req.url === '/slack' ? fromSlack(request) : [404]
      })
      // The gate and Slack both try again after a 5xx.
      .catch(() => [500])
    res.writeHead(status, { 'content-type': 'application/json' })
    res.end(answer === undefined ? '' : JSON.stringify(answer))
  }
}

/** No argument is in a notification: who decides reads them at the gate, behind their own sign-in. */
function question({ approval_id, document_digest, tool, agent, deadline, link }) {
  const value = JSON.stringify({ approval_id, digest: document_digest })
  const button = (action_id, text) => ({
    type: 'button',
    action_id,
    value,
    text: { type: 'plain_text', text },
  })
  const text = `${agent} asks to run ${tool}, until ${deadline.at}: ${link}`
  return {
    text,
    blocks: [
      { type: 'section', text: { type: 'plain_text', text } },
      { type: 'actions', elements: [button('approve', 'Approve'), button('deny', 'Refuse')] },
    ],
  }
}

const news = (type, { approval_id, tool, outcome }) =>
  `${tool} ${approval_id}: ${outcome ?? type.replace('approval.', '')}`

async function read(req) {
  let body = ''
  for await (const chunk of req.setEncoding('utf8')) {
    body += chunk
    if (body.length > MAX_BODY) throw new Error('too large')
  }
  return body
}
