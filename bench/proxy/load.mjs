import { runLanes } from './lanes.mjs'

let orders = 0

process.on('message', async ({ port, connections, ms, request }) => {
  // Every call has an order of its own: where a policy reads it, no decision comes from memory.
  const order = request.indexOf('0000000')
  const amount = request.indexOf('100.00')
  const lanes = Array.from({ length: connections }, () => ({
    bytes: Buffer.from(request, 'latin1'),
    calls: 0,
  }))
  const next = (lane) => {
    const own = lanes[lane]
    const cents = 10_000 + (((own.calls++ * connections + lane) * 7919) % 29_999)
    own.bytes.write(`${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`, amount)
    own.bytes.write(String(orders++ % 10_000_000).padStart(7, '0'), order)
    return Buffer.from(own.bytes)
  }
  process.send?.(await runLanes({ port, connections, ms, next }))
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
