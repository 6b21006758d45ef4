import type { RunningGate } from '../../src/app/open-gate.js'
import { scripted } from '../support/mcp/scripted.js'
import { approvalConformance } from './approval-conformance.js'
import { clientsOnStdio, clientsOverHttp, overMcp } from './approval-over-mcp.js'

/** Client, gate and server on pipes: a process that is gone takes its session with it, so the rules turn instead. */
approvalConformance(
  'a wrapped MCP server',
  async (time, rules) => {
    const server = await scripted()
    let turning = false
    let running: RunningGate | null = null
    return overMcp(time, rules, server, {
      sendNothing(on) {
        turning = on
      },
      async seam(name) {
        if (name !== 'before_first_byte' || !turning) return
        await running?.halt({ kind: 'agent', name: 'somebody-else' }, 'test')
      },
      open(gate) {
        running = gate
        return clientsOnStdio(gate, server)
      },
    })
  },
  'judgement_stale',
)

/** Agent, gate and server on sockets of their own. */
approvalConformance('MCP over HTTP', async (time, rules) => {
  const server = await scripted()
  return overMcp(time, rules, server, {
    sendNothing: (on) => server.offline(on),
    open: (gate) => clientsOverHttp(gate, server),
  })
})
