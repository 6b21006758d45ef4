/** `capsule-gate wrap` before an MCP server: listed, executed, blocked, denied, and decided by a person. Exits 0 or throws. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openClient } from './client.mjs'

const here = import.meta.dirname
const cli = join(here, '..', '..', 'dist', 'cli', 'main.js')
const home = mkdtempSync(join(tmpdir(), 'capsule-gate-mcp-'))
const data = join(home, 'data')
const gate = (...args) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], {
    encoding: 'utf8',
  })
  assert.equal(status, 0, `${stdout}${stderr}`)
  return stdout.trim()
}

try {
  /** A person's token: for the admin plane only. No agent ever holds it. */
  const ada = gate('tokens', 'create', '--role', 'approver', '--name', 'ada', '--dir', data)

  const agent = await openClient(process.execPath, [
    ...[cli, 'wrap', '--config', join(here, 'gate.yaml'), '--data', data, '--admin-port', '0'],
    ...['--name', 'payments', '--agent', 'support-bot'],
    ...['--', process.execPath, join(here, 'server.mjs')],
  ])

  // #region agent
  const verdict = ({ _meta }) => _meta['dev.capsulegate/verdict']
  const refund = (amount, meta) =>
    agent.call('create_refund', { order: 'o-1001', currency: 'EUR', amount }, meta)

  // No policy lets this agent delete customers, so it is not shown the tool either.
  const { tools } = await agent.ask('tools/list')
  assert.deepEqual(
    tools.map(({ name }) => name),
    ['find_order', 'create_refund'],
  )

  const done = await refund('40.00')
  assert.equal(verdict(done), 'executed')
  assert.match(done.content[0].text, /^create_refund done: /)

  const blocked = await refund('750.00')
  assert.deepEqual([blocked.isError, verdict(blocked)], [true, 'blocked'])
  assert.equal(blocked.structuredContent.code, 'constraint_failed')

  const denied = await agent.call('delete_customer', { customer: 'c-1' })
  assert.deepEqual([denied.isError, verdict(denied)], [true, 'denied'])

  const waiting = await refund('250.00')
  assert.equal(verdict(waiting), 'hitl_dispatched')
  const [, page, approval] = /decides at (http:\S+)\/approvals\/([\w-]+)\./.exec(
    waiting.content[0].text,
  )
  // #endregion agent
  for (const answer of [done, blocked, denied, waiting]) {
    console.log(verdict(answer).padEnd(16), answer._meta['dev.capsulegate/capsule'])
  }

  // #region person
  const as = { authorization: `Bearer ${ada}`, 'content-type': 'application/json' }
  const shown = await fetch(`${page}/v1/approvals/${approval}`, { headers: as })
  const { document, document_digest: digest } = await shown.json()
  assert.deepEqual(document.arguments.amount, { type: 'decimal', value: '250' })

  const decided = await fetch(`${page}/v1/approvals/${approval}/decision`, {
    method: 'POST',
    headers: as,
    body: JSON.stringify({ decision: 'approve', digest, reason: 'checked' }),
  })
  assert.equal((await decided.json()).state, 'approved')
  // #endregion person

  // #region again
  const other = await refund('251.00', { 'dev.capsulegate/approval': approval })
  assert.equal(other.isError, true)
  const approved = await refund('250.00', { 'dev.capsulegate/approval': approval })
  assert.equal(verdict(approved), 'executed')
  // #endregion again
  console.log('executed, approved by a person', approved._meta['dev.capsulegate/capsule'])
  assert.equal(await agent.close(), 0)

  // The gate has ended with its client. Its records are there for anybody who has the keys.
  const journal = join(data, 'journal', '00000001.jsonl')
  gate('verify', journal, '--keys', join(data, 'keys', 'keyring.json'))
  const capsules = readFileSync(journal, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
    .filter(({ type }) => type === 'CAPSULE')
    .map(({ capsule }) => capsule)
  const { disposition, effect } = capsules.find(
    ({ capsule_id }) => capsule_id === approved._meta['dev.capsulegate/capsule'],
  )
  assert.deepEqual([disposition.approver, disposition.human_disposed], ['human', true])
  assert.equal(effect.status, 'confirmed')
  assert.equal(JSON.parse(gate('tools', 'ls', '--data', data, '--json')).tools.length, 3)
} finally {
  rmSync(home, { recursive: true })
}
