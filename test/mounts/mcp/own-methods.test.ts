import { afterEach, expect, it } from '@jest/globals'
import { readMessage } from '../../../src/core/mcp/message.js'
import type { Served } from '../../../src/mounts/mcp/options.js'
import { ownReply } from '../../../src/mounts/mcp/own-methods.js'
import { stepsOn } from '../../support/intent-scenarios.js'
import { mandateIssuer } from '../../support/intents.js'
import { type Rig, refund, rig } from '../../support/rig.js'
import { MANIFEST } from '../../support/verdict-scenarios.js'

/** What an agent asks of the gate itself over MCP, identified by a mandate. */
let at: Rig
afterEach(() => at.close())

it.each(['get', 'result', 'withdraw'])(
  'a revoked mandate is no credential for actions/%s',
  async (method) => {
    const issuer = mandateIssuer()
    const { jti, mandate } = stepsOn('o-1', { cedar_actions: ['create_refund'] }, issuer)
    at = await rig({ manifest: MANIFEST, mandateIssuers: issuer.options })
    const caller = { bearer: mandate, certificate: null, asserted: null, source: '' }
    const waiting = await at.gate.govern(refund('200.00', { caller }), () => {
      throw new Error('nothing is sent')
    })
    if (waiting.kind !== 'pending') throw new Error(waiting.kind)
    const text = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: `dev.capsulegate/actions/${method}`,
      params: { action_id: waiting.approvalId },
    })
    const octets = Buffer.from(text)
    const read = readMessage(octets, octets.length)
    if (!read.ok || read.message.kind !== 'request') throw new Error('no request')
    const { message } = read
    const sender = { caller, identified: await at.gate.identify(caller) }
    const served: Pick<Served, 'name'> = { name: 'echo' }
    const ask = async () => {
      const reply = await ownReply(message, sender, { gate: at.gate, served: served as Served })
      return Buffer.from(reply.octets).toString()
    }
    if (method === 'get') expect(await ask()).toContain('"resultType"')
    await at.gate.revokeMandate(jti, 'test')
    expect(await ask()).toContain('urn:capsule-gate:error:mandate_revoked')
    const [approval] = await at.gate.data.state.approvals()
    expect(approval?.state.kind).toBe('pending')
  },
)
