import { connect } from 'node:net'

/**
 * Keep-alive load over bare sockets: N connections, one request at a time on each, for so many ms.
 * `next(lane)` gives the bytes of that connection's next request, or null where it has no more.
 */
export async function runLanes({ port, connections, ms, next }) {
  const times = []
  let bad = 0
  let ranOut = 0
  const until = performance.now() + ms
  const one = (_, lane) =>
    new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      let sent = 0
      let pending = Buffer.alloc(0)
      const end = () => {
        socket.destroy()
        resolve()
      }
      const go = () => {
        if (performance.now() >= until) return end()
        const bytes = next(lane)
        if (bytes === null) {
          ranOut++
          return end()
        }
        sent = performance.now()
        socket.write(bytes)
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
  return {
    calls: times.length,
    rps: times.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    bad,
    ranOut,
  }
}
