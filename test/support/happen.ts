import { createUpstream } from '../../src/adapters/http-client/upstream.js'
import type { Answer } from '../../src/gate/answer/answer.js'
import { govern } from '../../src/gate/govern/govern.js'
import type { JournalLine } from '../../src/ports/journal.js'
import { WITH_INTENT } from './intent-scenarios.js'
import { rawUpstream } from './raw-upstream.js'
import { type CapsuleLine, type Rig, type RigOptions, rig, sending } from './rig.js'
import { fine, MANIFEST, POLICIES, type Scenario } from './verdict-scenarios.js'

export type Ended = {
  answer: Answer
  capsules: CapsuleLine[]
  /** What the call itself left in the journal, without heads. */
  lines: JournalLine[]
  rig: Rig
  requests: number
}

/** One row on a gate of its own, through real files and, where the row gets that far, a real socket. */
export async function happen(scenario: Scenario, more: Partial<RigOptions> = {}): Promise<Ended> {
  let turn: (() => Promise<void>) | null = null
  const gate = await rig({
    manifest: MANIFEST,
    policies: POLICIES,
    agentKeys: 1,
    ...WITH_INTENT,
    ...more,
    seam: async (name) => {
      if (name === 'before_first_byte' && turn !== null) await turn()
    },
  })
  const { parts } = gate.gate
  const behaviour = typeof scenario.tool === 'function' ? scenario.tool : fine
  const servers = [await rawUpstream(behaviour)]
  const upstream = createUpstream({
    name: 'default',
    origin: await originFor(scenario, servers[0]?.port ?? 0),
  })
  for (const { call, tool = fine } of scenario.first ?? []) {
    const server = await rawUpstream(tool)
    servers.push(server)
    const earlier = createUpstream({ name: 'default', origin: server.origin })
    await gate.gate.govern(call, sending(earlier, call))
    await earlier.close()
  }
  await scenario.before?.(gate.gate)
  const before = (await gate.capsules()).length
  const linesBefore = (await gate.lines()).length
  if (scenario.doing === 'halt')
    await gate.gate.halt({ kind: 'agent', name: 'support-bot' }, 'test')
  if (scenario.doing === 'turn_before_first_byte') {
    turn = () => gate.gate.halt({ kind: 'agent', name: 'somebody-else' }, 'test')
  }
  // A dead state store cannot be caused in process with the embedded driver: a fake behind its port.
  const faulty =
    scenario.doing === 'state_store_dead'
      ? {
          ...parts,
          state: { ...parts.state, reserve: () => Promise.reject(new Error('store is down')) },
        }
      : {
          ...parts,
          approvals: scenario.doing !== 'nobody_to_ask',
          ...(scenario.doing === 'one_may_wait' ? { openPerAgent: 1 } : {}),
        }
  const answer = await govern(scenario.call, sending(upstream, scenario.call), faulty)
  const capsules = (await gate.capsules()).slice(before)
  const lines = (await gate.lines()).slice(linesBefore).filter(({ type }) => type !== 'HEAD')
  const requests = servers[0]?.requests.length ?? 0
  await upstream.close()
  for (const server of servers) await server.close()
  return { answer, capsules, lines, rig: gate, requests }
}

async function originFor({ tool }: Scenario, port: number): Promise<string> {
  if (tool === 'no_tls') return `https://127.0.0.1:${port}`
  if (tool !== 'refused') return `http://127.0.0.1:${port}`
  const gone = await rawUpstream(fine)
  await gone.close()
  return gone.origin
}
