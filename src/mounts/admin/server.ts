import { createServer, type RequestListener, type Server } from 'node:http'
import { createApprover } from '../approver/router.js'
import { listen } from '../http/listen.js'
import { type AppOptions, createApp } from './app.js'
import { METRICS_TYPE, type Metrics } from './routes/metrics.js'
import { ROUTES } from './routes.js'

export const createAdmin = (options: AppOptions) =>
  serverOf('admin', createApp(ROUTES, options, createApprover(options)) as RequestListener)

/** Prometheus text without a token, for a scraper on the same host; it says nothing but numbers and names of tools. */
export const createMetricsListener = (metrics: Metrics) =>
  serverOf('metrics', (request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      (text) => response.writeHead(200, { 'content-type': METRICS_TYPE }).end(text),
      () => response.writeHead(500).end(),
    )
  })

function serverOf(name: 'admin' | 'metrics', listener: RequestListener) {
  const server: Server = createServer(
    { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 10_000 },
    listener,
  )
  return {
    listen: (port: number, host: string) => listen(server, name, port, host),
    /** Ends event streams too. */
    close: (): Promise<void> =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
