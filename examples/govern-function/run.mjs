/** A function and a fetch under the gate. The function's result is its word; the fetch was observed. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createGate, GateRefusal } from 'capsule-gate'

const ledger = createServer((_req, res) => {
  res.writeHead(201, { 'content-type': 'application/json' }).end('{"entry":"e-1"}')
})
await new Promise((resolve) => ledger.listen(0, '127.0.0.1', resolve))
const origin = `http://127.0.0.1:${ledger.address().port}`
const data = mkdtempSync(join(tmpdir(), 'example-function-'))

// #region open
const gate = await createGate(join(import.meta.dirname, 'gate.yaml'), {
  env: {
    GATE_DATA_DIR: JSON.stringify(data),
    GATE_UPSTREAM: JSON.stringify(origin),
  },
})
// #endregion open

try {
  // #region wrap
  const pay = gate.wrap('create_refund', async ({ order, amount }) => ({ order, paid: amount }))

  const done = await pay({ order: 'o-1', amount: '12.50' }, { agent: 'support-bot' })
  assert.deepEqual(done, { order: 'o-1', paid: '12.50' })

  await assert.rejects(
    pay({ order: 'o-2', amount: '501.00' }, { agent: 'support-bot' }),
    (error) => {
      assert.ok(error instanceof GateRefusal)
      assert.equal(error.code, 'constraint_failed')
      assert.equal(error.problem.dispatched, false)
      return true
    },
  )
  // #endregion wrap

  // #region fetch
  const booked = await gate.fetch(`${origin}/entries`, {
    agent: 'support-bot',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '12.50' }),
  })
  assert.equal(booked.headers.get('gate-verdict'), 'executed')
  assert.deepEqual(await booked.json(), { entry: 'e-1' })
  // #endregion fetch

  const denied = await gate.fetch(`${origin}/entries`, {
    agent: 'somebody-else',
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ amount: '12.50' }),
  })
  assert.deepEqual([denied.status, (await denied.json()).code], [403, 'policy_denied'])

  const effects = []
  for await (const { type, capsule } of gate.read.lines(1)) {
    if (type === 'CAPSULE' && capsule.effect !== undefined) effects.push(capsule.effect)
  }
  const said = effects.map((effect) => `${effect.status} ${effect.effect_attestation}`)
  console.log(said.join('\n'))
  assert.deepEqual(said, ['dispatched runtime_claimed', 'confirmed gate_executed'])
} finally {
  ledger.close()
  ledger.closeAllConnections()
  await gate.close()
  rmSync(data, { recursive: true })
}
