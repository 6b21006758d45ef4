import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import { DEFAULT_LIMITS } from '../../src/mounts/proxy/options.js'
import { createProxy } from '../../src/mounts/proxy/server.js'
import { approvalConformance } from './approval-conformance.js'
import { httpTool, overHttp } from './approval-over-http.js'

/** Agent, gate and tool on sockets of their own. */
approvalConformance('reverse proxy', async (time, rules) => {
  const tool = await httpTool()
  const { origin } = tool
  return overHttp(time, rules, {
    ...tool,
    async open(gate) {
      const upstream = createUpstream({ name: 'default', origin })
      const proxy = createProxy({
        gate,
        upstreams: new Map([['default', { upstream, origin, deadlines: {} }]]),
        passThrough: [],
        // A busy machine is no overload of the gate.
        limits: { ...DEFAULT_LIMITS, maxLoopDelayMs: 60_000 },
        report: () => undefined,
      })
      const { port } = await proxy.listen(0, '127.0.0.1')
      return {
        port,
        async close() {
          await proxy.close(0)
          await upstream.close()
        },
      }
    },
  })
})
