import { connect } from 'node:net'

let orders = 0

/** Keep-alive load over bare sockets: N connections, one request at a time on each, for so many ms. */
process.on('message', async ({ port, connections, ms, request }) => {
  const bytes = Buffer.from(request, 'latin1')
  const times = []
  let bad = 0
  const until = performance.now() + ms
  const one = (_, lane) =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      // Every call has an order of its own: where a policy reads it, no decision comes from memory.
      const own = Buffer.from(bytes)
      const order = own.indexOf('0000000')
      const amount = own.indexOf('100.00')
      let calls = 0
      let sent = 0
      let pending = Buffer.alloc(0)
      const go = () => {
        if (performance.now() >= until) {
          socket.destroy()
          return resolve()
        }
        sent = performance.now()
        const cents = 10_000 + (((calls++ * connections + lane) * 7919) % 29_999)
        own.write(`${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, '0')}`, amount)
        own.write(String(orders++ % 10_000_000).padStart(7, '0'), order)
        socket.write(Buffer.from(own))
      }
      socket.on('connect', go)
      socket.on('error', reject)
      socket.on('close', () => resolve())
      socket.on('data', (chunk) => {
        pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
        const head = pending.indexOf('\r\n\r\n')
        if (head === -1) return
        const text = pending.toString('latin1', 0, head)
        const length = /content-length: (\d+)/i.exec(text)
        const whole = length
          ? pending.length >= head + 4 + Number(length[1])
          : pending.subarray(-5).toString() === '0\r\n\r\n'
        if (!whole) return
        if (!text.startsWith('HTTP/1.1 200')) bad++
        times.push(performance.now() - sent)
        pending = Buffer.alloc(0)
        go()
      })
    })
  const started = performance.now()
  await Promise.all(Array.from({ length: connections }, one))
  const seconds = (performance.now() - started) / 1000
  times.sort((a, b) => a - b)
  const at = (q) => times[Math.min(times.length - 1, Math.floor(times.length * q))] ?? Number.NaN
  process.send?.({
    calls: times.length,
    rps: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    bad,
  })
})
process.on('disconnect', () => process.exit())
process.send?.({ ready: true })
