// #region app
import { createGate } from 'capsule-gate'
import { gate } from 'capsule-gate/express'
import express from 'express'

/** An application whose routes are tools of an agent. The gate comes before any body parser. */
export async function startApp(config, env) {
  const running = await createGate(config, { env })
  const guarded = gate(running)
  const app = express()

  app.use('/tools', guarded)
  app.post('/tools/refunds', (req, res) => {
    // What was judged is what the handler gets.
    res.status(201).json({ id: 'rf_1', ...req.body })
  })
  app.get('/tools/refunds/:id', (req, res) => res.json({ id: req.params.id }))

  // One route as one tool, whatever its path.
  app.post('/accounts/close', guarded.guard('close_account'), (_req, res) => res.json({}))
  return { app, running }
}
// #endregion app
