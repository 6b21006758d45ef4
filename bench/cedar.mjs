import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createCedarEngine } from '../dist/adapters/cedar/evaluate/engine.js'
import { warmUp } from '../dist/adapters/cedar/evaluate/warm-up.js'
import { loadPolicies } from '../dist/adapters/cedar/load/load.js'
import { floor, median, SHORT } from './stats.mjs'

/**
 * One decision with 1,000 policies against 10 (DESIGN §10), side by side, and what 2,000 reloads do to
 * memory. Each call has an order of its own and a policy reads it, so that the engine is asked every
 * time. CPU time: the machine may be shared.
 */
const REPETITIONS = SHORT ? 1 : 7
const CALLS = SHORT ? 20 : 1500
const RELOADS = SHORT ? 20 : 2000

const rules = Array.from({ length: 100 }, (_, i) => ({
  tool: `tool_${i}`,
  action: `tool_${i}`,
  args: {
    order: { type: 'string', optional: false },
    amount: { type: 'decimal', optional: false },
    note: { type: 'string', optional: true },
  },
}))
/** Ten policies on the measured tool in either set; the others are about the other tools. */
const policies = (count) =>
  Array.from({ length: count }, (_, i) => {
    const action = i < 10 ? 'tool_0' : `tool_${1 + (i % 99)}`
    if (i === 0) {
      return `@id("barred") forbid (principal, action == Action::"${action}", resource) when { context.args.order == "barred" };`
    }
    return i % 5 === 4
      ? `@id("p${i}") forbid (principal, action == Action::"${action}", resource) when { context.args.amount.greaterThan(decimal("${1000 + i}.0")) };`
      : `@id("p${i}") permit (principal == Agent::"bot-${i}", action == Action::"${action}", resource);`
  }).join('\n')
const request = {
  principal: 'bot-3',
  roles: ['support'],
  developer: 'acme',
  action: 'tool_0',
  resource: 'tool_0',
  irreversibility: 'one_way_consequential',
  args: { order: 'o-1', amount: '10.50' },
  approval: { granted: false },
}

const folder = mkdtempSync(join(tmpdir(), 'cedar-bench-'))
async function engineOf(count) {
  writeFileSync(join(folder, 'p.cedar'), policies(count))
  const started = performance.now()
  const loaded = await loadPolicies(folder, rules)
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.findings[0]))
  const between = performance.now()
  const engine = createCedarEngine({ set: loaded.set, rules })
  const ended = performance.now()
  console.log(
    `${count} policies, ${rules.length} actions: load ${Math.round(between - started)} ms (worker), prepare ${Math.round(ended - between)} ms`,
  )
  warmUp(engine)
  return { engine, set: loaded.set }
}
let order = 0
const cost = (engine) => {
  const before = process.cpuUsage()
  for (let i = 0; i < CALLS; i++) {
    const args = { ...request.args, order: `o-${order++}` }
    if (engine.decide({ ...request, args }).kind !== 'permit') throw new Error('not a permit')
  }
  const { user, system } = process.cpuUsage(before)
  return (user + system) / CALLS
}
const spread = (values) =>
  `${median(values).toFixed(0)} µs (${Math.min(...values).toFixed(0)}–${Math.max(...values).toFixed(0)})`

try {
  const small = await engineOf(10)
  const large = await engineOf(1000)
  cost(small.engine)
  cost(large.engine)
  const costs = { small: [], large: [] }
  for (let i = 0; i < REPETITIONS; i++) {
    costs.small.push(cost(small.engine))
    costs.large.push(cost(large.engine))
  }
  const ratio = median(costs.large) / median(costs.small)
  console.log(
    `decide, CPU: 10 policies ${spread(costs.small)}, 1000 policies ${spread(costs.large)}`,
  )
  floor('a decision at 1,000 policies vs 10, asked', ratio, { atMost: 1.3 })

  const few = rules.slice(0, 5)
  writeFileSync(join(folder, 'p.cedar'), policies(10))
  const reloaded = await loadPolicies(folder, few)
  if (!reloaded.ok) throw new Error(JSON.stringify(reloaded.findings[0]))
  let engine = createCedarEngine({ set: reloaded.set, rules: few })
  const memory = () => (process.memoryUsage().external / 2 ** 20).toFixed(1)
  const before = memory()
  for (let i = 0; i < RELOADS; i++) {
    engine = createCedarEngine({ set: reloaded.set, rules: few, replaces: engine })
  }
  console.log(`${RELOADS} reloads: external memory ${before} → ${memory()} MiB`)
} finally {
  rmSync(folder, { recursive: true, force: true })
}
