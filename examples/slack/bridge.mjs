/**
 * Between the gate and Slack: a notification becomes a message that shows the call, every argument
 * included, with two buttons, and a pressed button becomes a decision at the gate. What does not fit into
 * a message becomes a link to the gate's page. Both sides are authenticated by signature; the bridge
 * itself decides nothing.
 */
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { Webhook } from 'standardwebhooks'

const WINDOW_SECONDS = 300
const MAX_BODY = 64 * 1024
/** Slack's: one text of a block, and the value of a button. */
const MAX_TEXT = 3000
const MAX_VALUE = 2000

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

/**
 * `postMessage` is Slack's chat.postMessage; `adminUrl` the gate's admin plane; `auditorToken` reads
 * approvals there and decides nothing.
 */
export function createBridge(options) {
  const { signingSecret, webhookSecret, sourceSecret, source, auditorToken } = options
  const { adminUrl, postMessage } = options
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
    const message =
      type === 'approval.requested'
        ? question(data, await shownBy(data.approval_id))
        : { text: news(type, data) }
    await postMessage(message)
    seen.add(headers['webhook-id'])
    return [204]
  }

  /** Agent, tool and arguments as the gate shows them to people; null where they are gone. */
  async function shownBy(approval_id) {
    const answer = await fetch(`${adminUrl()}/v1/approvals/${approval_id}`, {
      headers: { authorization: `Bearer ${auditorToken}` },
    })
    if (!answer.ok) throw new Error(`the gate answered ${answer.status}`)
    const { shown: text, arguments_digest: digest } = await answer.json()
    return text === null ? null : { text, digest }
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
    const { approval_id, digest, shown_digest } = JSON.parse(value)
    const press = [approval_id, person, decision, action_ts].join(' ')
    const id = `msg_${createHash('sha256').update(press).digest('hex').slice(0, 32)}`
    const reason = decision === 'deny' ? { reason: 'refused in Slack' } : {}
    const said = { source, person, approval_id, decision, digest, shown_digest, ...reason }
    const body = JSON.stringify(said)
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

// #region question
/** Buttons that decide stand only under a message that shows every argument; otherwise there is a link. */
function question({ approval_id, document_digest, deadline, link }, shown) {
  const text = `A call waits for a person, until ${deadline.at}: ${link}`
  const value = JSON.stringify({
    approval_id,
    digest: document_digest,
    shown_digest: shown?.digest,
  })
  const fits = shown !== null && shown.text.length <= MAX_TEXT && value.length <= MAX_VALUE
  const said = (content) => ({ type: 'plain_text', text: content, emoji: false })
  const section = (content) => ({ type: 'section', text: said(content) })
  const button = (action_id, label, more) => ({
    type: 'button',
    action_id,
    text: said(label),
    ...more,
  })
  return {
    text,
    blocks: fits
      ? [
          section(text),
          section(shown.text),
          {
            type: 'actions',
            elements: [
              button('approve', 'Approve', { value }),
              button('deny', 'Refuse', { value }),
            ],
          },
        ]
      : [
          section(text),
          { type: 'actions', elements: [button('read', 'Read and decide', { url: link })] },
        ],
  }
}
// #endregion question

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
