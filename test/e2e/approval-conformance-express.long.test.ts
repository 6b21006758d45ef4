import express, { type ErrorRequestHandler } from 'express'
import type { RunningGate } from '../../src/app/open-gate.js'
import { governedProxy, gate as guarding } from '../../src/express.js'
import { listen } from '../support/listen.js'
import { approvalConformance } from './approval-conformance.js'
import { DONE, httpTool, overHttp } from './approval-over-http.js'

/** An error is an answer that no case expects, so none goes by unseen. */
const failed: ErrorRequestHandler = (error, _req, res, _next) => {
  res.status(500).json({ error: String(error) })
}

/** An application whose own handler is the tool. */
approvalConformance(
  'Express middleware',
  (time, rules) => {
    let reached = 0
    let turning = false
    let running: RunningGate | null = null
    return overHttp(time, rules, {
      reached: () => reached,
      sendNothing(on) {
        turning = on
      },
      async seam(name) {
        if (name !== 'before_first_byte' || !turning) return
        await running?.halt({ kind: 'agent', name: 'somebody-else' }, 'test')
      },
      open(gate) {
        running = gate
        const app = express()
        app.use(guarding(gate) as never)
        app.post('/v1/refunds', express.json(), (req, res) => {
          reached++
          // The body parser behind the gate reads what was judged.
          if (typeof req.body.amount !== 'string') throw new TypeError('no amount')
          res.type('json').send(DONE)
        })
        app.use(failed)
        return listen(app)
      },
      close: async () => undefined,
    })
  },
  'judgement_stale',
)

/** An application in front of a tool elsewhere: what is out of a handler's reach is in this one's. */
approvalConformance('Express governed proxy', async (time, rules) => {
  const tool = await httpTool()
  return overHttp(time, rules, {
    ...tool,
    async open(gate) {
      const proxy = governedProxy({ gate, target: tool.origin })
      const app = express()
      app.use(proxy as never, failed)
      const { port, close } = await listen(app)
      return {
        port,
        async close() {
          await close()
          await proxy.close()
        },
      }
    },
  })
})
