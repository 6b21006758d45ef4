// #region app
import { createGate } from 'capsule-gate'
import { governedProxy } from 'capsule-gate/express'
import express from 'express'
import helmet from 'helmet'

/** An existing Express application with a governed API behind one of its paths. */
export async function startApp(config, env, target) {
  const running = await createGate(config, { env })
  const payments = governedProxy({
    gate: running,
    target,
    // The API's credential is the gate's; the agent's token stays here.
    credential: { header: 'Authorization', value: () => `Bearer ${env.PAYMENTS_TOKEN}` },
  })
  const app = express()
  app.use(helmet())
  app.get('/healthz', (_req, res) => res.json({ ok: true }))
  app.use('/payments', payments)
  // Parsers come after it: the gate reads the octets themselves.
  app.use(express.json())
  return { app, running, payments }
}
// #endregion app
