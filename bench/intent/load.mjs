import { runLanes } from '../proxy/lanes.mjs'
import { ACCOUNT, declaration, mandateIssuer } from './declarations.mjs'

/**
 * The load of both gates. All requests of a window are made before it begins: the same calls, with a declaration
 * each or without. Steps of one session go over one connection, so that they arrive in their order.
 */
const SESSIONS_PER_LANE = 4
const issuer = mandateIssuer()
/** Sessions of each connection, with the step committed last. */
const sessions = []
let orders = 0
let prepared = null

const body = () =>
  JSON.stringify({
    account: ACCOUNT,
    order: `a-${String(orders++ % 10_000_000).padStart(7, '0')}`,
    currency: 'EUR',
    amount: `${100 + ((orders * 7919) % 300)}.${String(orders % 100).padStart(2, '0')}`,
    note: 'n'.repeat(900),
  })

function request(declares) {
  const bytes = body()
  const headers = declares === null ? '' : declares
  return Buffer.from(
    `POST /pay HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer t\r\n${headers}content-type: application/json\r\ncontent-length: ${bytes.length}\r\n\r\n${bytes}`,
    'latin1',
  )
}

function nextOf(lane, index) {
  sessions[lane] ??= Array.from({ length: SESSIONS_PER_LANE }, () => ({
    ...issuer.session(),
    step: 0,
  }))
  const session = sessions[lane][index % SESSIONS_PER_LANE]
  session.step++
  const { mandate, step } = session
  return request(`agent-mandate: ${mandate}\r\nagent-intent: ${declaration(session, step)}\r\n`)
}

process.on('message', async (message) => {
  switch (message.kind) {
    case 'prepare': {
      const { connections, calls, declared } = message
      const each = Math.ceil(calls / connections)
      prepared = Array.from({ length: connections }, (_, lane) =>
        Array.from({ length: each }, (_, i) => (declared ? nextOf(lane, i) : request(null))),
      )
      return process.send?.({ ready: true })
    }
    case 'run': {
      const { port, connections, ms } = message
      const queues = prepared
      const sent = queues.map(() => 0)
      const next = (lane) => queues[lane][sent[lane]++] ?? null
      return process.send?.(await runLanes({ port, connections, ms, next }))
    }
  }
})
process.on('disconnect', () => process.exit())
process.send?.({ trusted: issuer.trusted })
