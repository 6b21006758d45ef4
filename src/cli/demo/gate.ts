import { createGate } from '../../config/create-gate.js'
import { loadConfig } from '../../config/load.js'
import { sayProblem } from '../../config/model.js'
import { createUpstreams } from '../../config/upstreams.js'
import type { RunningGate } from '../../config/wire.js'
import { limitsOf } from '../../mounts/proxy/from-config.js'
import { createProxy } from '../../mounts/proxy/server.js'
import { listenNear } from './tool.js'

export type DemoGate = {
  readonly url: string
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
  const gate = await createGate(config, { report })
  const upstreams = createUpstreams(config, {})
  const proxy = createProxy({
    gate,
    upstreams,
    defaultUpstream: 'default',
    passThrough: [],
    limits: limitsOf(config),
    report,
  })
  const { host, port } = config.listeners.data
  const close = async (): Promise<void> => {
    await proxy.close(0)
    for (const { upstream } of upstreams.values()) await upstream.close()
    await gate.close()
  }
  try {
    const address = await listenNear(port, (wanted) => proxy.listen(wanted, host))
    return { url: `http://${host}:${address.port}`, gate, close }
  } catch (error) {
    await close()
    throw error
  }
}
