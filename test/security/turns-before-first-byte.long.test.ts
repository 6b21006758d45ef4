import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from '@jest/globals'
import type { JudgesSource } from '../../src/app/judges/load.js'
import type { RunningGate } from '../../src/app/open-gate.js'
import type { HttpCall } from '../../src/core/call/call.js'
import { CANARY_MANIFEST } from '../../src/gate/operate/canary.js'
import type { Way } from '../e2e/verdict-table.js'
import { throughDecide } from '../e2e/verdict-way-decide.js'
import {
  throughFetch,
  throughFunction,
  throughGovernedProxy,
  throughMiddleware,
  throughProxy,
} from '../e2e/verdict-ways.js'
import { MCP_MANIFEST, throughMcpHttp, throughMcpStdio } from '../e2e/verdict-ways-mcp.js'
import { type Rig, rig } from '../support/rig.js'
import { MANIFEST, POLICIES, SCENARIOS } from '../support/verdict-scenarios.js'

/** What changes between the judgement and the first byte: nothing is sent, and the record says so. */
const WAYS: Record<string, { open(gate: RunningGate): Promise<Way>; manifest: string }> = {
  'the proxy': { open: throughProxy, manifest: MANIFEST },
  middleware: { open: throughMiddleware, manifest: MANIFEST },
  governedProxy: { open: throughGovernedProxy, manifest: MANIFEST },
  'a wrapped function': {
    open: throughFunction,
    manifest: MANIFEST.replaceAll(/^ {4}match: .*\n/gm, ''),
  },
  'a permit': {
    open: throughDecide,
    manifest: MANIFEST.replaceAll(/^ {4}match: .*\n/gm, ''),
  },
  'the gated fetch': { open: throughFetch, manifest: MANIFEST },
  'a wrapped MCP server': { open: throughMcpStdio, manifest: MCP_MANIFEST },
  'MCP over HTTP': { open: throughMcpHttp, manifest: MCP_MANIFEST },
}
const DENY = '@id("nobody") permit (principal == Agent::"nobody", action, resource);'

function sourceOf({ gate, dir }: Rig, mode: 'enforce' | 'observe' = 'enforce'): JudgesSource {
  const { manifests } = gate.read.judges()
  return {
    operator: 'acme',
    mode,
    manifests: manifests.filter(({ manifest }) => manifest !== CANARY_MANIFEST),
    policyFolder: join(dir, 'policies'),
  }
}
const policies = async (at: Rig, text: string): Promise<void> => {
  writeFileSync(join(at.dir, 'policies', 'payments.cedar'), text)
  expect(await at.gate.reload(sourceOf(at))).toEqual([])
}

type Turn = { turn(at: Rig): Promise<void>; back(at: Rig): Promise<void> }
const halting = (scope: Parameters<RunningGate['halt']>[0]): Turn => ({
  turn: ({ gate }) => gate.halt(scope, 'test'),
  back: ({ gate }) => gate.resume(scope, 'test'),
})
const TURNS: Record<string, Turn> = {
  'a halt of everything': halting({ kind: 'all' }),
  'a halt of this agent': halting({ kind: 'agent', name: 'support-bot' }),
  'a halt of this tool': halting({ kind: 'tool', name: 'create_refund' }),
  'a halt of another agent': halting({ kind: 'agent', name: 'somebody-else' }),
  'policies that deny the call': {
    turn: (at) => policies(at, DENY),
    back: (at) => policies(at, POLICIES),
  },
  'a change of mode': {
    turn: async (at) => expect(await at.gate.reload(sourceOf(at, 'observe'))).toEqual([]),
    back: async (at) => expect(await at.gate.reload(sourceOf(at))).toEqual([]),
  },
}

let at: Rig | null = null
let way: Way | null = null
afterEach(async () => {
  await way?.close()
  await at?.close()
})

describe.each(Object.entries(WAYS))('through %s', (_, { open, manifest }) => {
  it.each(Object.entries(TURNS))('%s', async (_name, { turn, back }) => {
    let turning = false
    const here = await rig({
      manifest,
      policies: POLICIES,
      seam: async (name) => {
        if (name !== 'before_first_byte' || !turning) return
        turning = false
        await turn(here)
      },
    })
    at = here
    way = await open(here.gate)
    let reached = false
    void way.reached().then(() => {
      reached = true
    })
    await way.behave({ code: 'executed', tool: undefined, cut: false })
    const call: HttpCall = { ...SCENARIOS.executed.call, idempotencyKey: 'once' }
    turning = true
    const told = await way.ask(call, 'executed')
    expect(told).toMatchObject({
      status: 503,
      problem: { code: 'judgement_stale', dispatched: false },
    })
    expect(reached).toBe(false)
    const [capsule] = (await here.capsules()).map((line) => line.capsule)
    expect(capsule?.disposition).toMatchObject({
      verdict_class: 'engine_failure',
      decision: 'reject',
    })
    expect(capsule?.effect).toBeUndefined()
    // Nothing was sent, so the key is free again: the same call runs, once.
    await back(here)
    const again = await way.ask(call, 'executed')
    expect(again?.status).toBe(200)
    expect(reached).toBe(true)
    expect(await here.capsules()).toHaveLength(2)
  })
})
