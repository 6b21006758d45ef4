import { type Attached, attachAdmin } from '../../app/admin.js'
import { systemClock } from '../../app/clock.js'
import { createGate } from '../../app/create-gate.js'
import type { RunningGate } from '../../app/open-gate.js'
import { limitsOf } from '../../app/proxy-config.js'
import { createUpstreams } from '../../app/upstreams.js'
import { loadConfig } from '../../config/load.js'
import { sayProblem } from '../../config/model.js'
import { createMetrics } from '../../mounts/admin/routes/metrics.js'
import { createProxy } from '../../mounts/proxy/server.js'
import { listenNear } from './tool.js'

export type DemoGate = {
  readonly url: string
  /** Where a person decides. */
  readonly people: string
  readonly gate: RunningGate
  close(): Promise<void>
}

/** The gate as `serve` would run it from the same file, in this process so that nothing outlives it. */
export async function startDemoGate(
  configFile: string,
  complain: (line: string) => void,
): Promise<DemoGate> {
  const loaded = loadConfig(configFile, {})
  if (!loaded.ok) throw new Error(loaded.problems.map(sayProblem).join('\n'))
  const { config } = loaded
  const report = (event: { level: string; event: string; detail?: string }): void => {
    if (event.level === 'error') complain(`${event.event} ${event.detail ?? ''}`)
  }
  const gate = await createGate(config, { report, approvals: true })
  const upstreams = createUpstreams(config, {})
  const proxy = createProxy({
    gate,
    upstreams,
    passThrough: [],
    limits: limitsOf(config),
    report,
  })
  let admin: Attached | null = null
  const close = async (): Promise<void> => {
    await admin?.close()
    await proxy.close(0)
    for (const { upstream } of upstreams.values()) await upstream.close()
    await gate.close()
  }
  const { data, admin: operators } = config.listeners
  try {
    const asked = await listenNear(operators.port, async (port) => {
      const listeners = { ...config.listeners, admin: { ...operators, port } }
      admin = await attachAdmin(
        gate,
        { ...config, listeners },
        {
          metrics: createMetrics(systemClock),
          report,
        },
      )
      return admin.admin
    })
    const address = await listenNear(data.port, (port) => proxy.listen(port, data.host))
    return {
      url: `http://${data.host}:${address.port}`,
      people: `http://${operators.host}:${asked.port}/approvals`,
      gate,
      close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
