#!/usr/bin/env node
/**
 * A hook for coding agents that run their tools themselves. Before a tool runs it asks the gate, and blocks the tool
 * unless there is a permit; after it ran it reports. It reads the event as JSON on stdin.
 *
 * GATE_URL          where agents connect, e.g. http://127.0.0.1:8080
 * GATE_TOKEN_FILE   a file with this agent's token
 * GATE_WAIT_SECONDS how long to wait for a person who must decide, at most 20, which is the default
 * GATE_HOOK_STATE   a folder for open permits; default: one in the system's temporary folder, per user
 */
import { createHash, randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

/** Clients block on 2, and let the tool run on any other failure: so whatever goes wrong before a tool is a 2. */
const BLOCK = 2
const FAILED = 1
/** Above what the gate takes in one report. */
const MOST_REPORTED = 200 * 1024
/** The client's own limit for hooks has to be longer than this and the time of an answer. */
const WAIT_SECONDS = Number(process.env.GATE_WAIT_SECONDS ?? 20)

const gate = (path, body, headers = {}) =>
  fetch(`${process.env.GATE_URL}/.gate/v1${path}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${readFileSync(process.env.GATE_TOKEN_FILE, 'utf8').trim()}`,
      'content-type': 'application/json',
      ...headers,
    },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout((WAIT_SECONDS + 10) * 1000),
  })

/** Where the permit of one use of a tool is kept until the tool has run. */
function permitFile({ session_id, tool_use_id }) {
  const folder =
    process.env.GATE_HOOK_STATE ?? join(tmpdir(), `capsule-gate-hook-${userInfo().uid}`)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const name = createHash('sha256')
    .update(JSON.stringify([session_id, tool_use_id]))
    .digest('hex')
  return join(folder, name)
}

function block(reason) {
  const hookSpecificOutput = {
    hookEventName: 'PreToolUse',
    permissionDecision: 'deny',
    permissionDecisionReason: reason,
  }
  process.stdout.write(`${JSON.stringify({ hookSpecificOutput })}\n`)
  process.stderr.write(`${reason}\n`)
  process.exitCode = BLOCK
}

async function beforeTool(event) {
  const question = { tool: event.tool_name, arguments: event.tool_input }
  const answer = await gate('/decide', question, { prefer: `wait=${WAIT_SECONDS}` })
  const told = await answer.json()
  if (answer.status !== 200 || told.verdict !== 'permit') {
    // The gate's own words are written for a model: what was refused, and what to do instead.
    const why = told.deny_message === undefined ? '' : ` ${told.deny_message}`
    return block(`${told.detail}${why} (${told.code}, action ${told.action_id ?? 'none'})`)
  }
  writeFileSync(permitFile(event), told.action_id, { mode: 0o600, flag: 'wx' })
  // No decision is printed, so that the client's own rules and questions hold as well.
}

async function afterTool(event, ok) {
  const file = permitFile(event)
  let id
  try {
    id = readFileSync(file, 'utf8')
    rmSync(file)
  } catch {
    // It ran, and nobody asked before. An id that the gate does not know says exactly that.
    id = randomUUID()
  }
  const result = event.tool_response ?? event.error ?? null
  const length = Buffer.byteLength(JSON.stringify(result))
  const claimed = { result: length > MOST_REPORTED ? { left_out_bytes: length } : result }
  const answer = await gate(`/actions/${id}/report`, { ok, claimed })
  if (answer.status === 200) return
  const { detail, code } = await answer.json()
  process.stderr.write(`not on record as you might expect: ${detail} (${code})\n`)
  process.exitCode = FAILED
}

const AFTER = { PostToolUse: true, PostToolUseFailure: false }
let name = 'PreToolUse'
try {
  const event = JSON.parse(readFileSync(0, 'utf8'))
  name = event.hook_event_name
  if (name === 'PreToolUse') await beforeTool(event)
  else if (Object.hasOwn(AFTER, name)) await afterTool(event, AFTER[name])
} catch (error) {
  const reason = `The gate could not be asked: ${error.cause?.message ?? error.message}.`
  if (Object.hasOwn(AFTER, name)) {
    process.stderr.write(`${reason} What is not reported is recorded as a timeout.\n`)
    process.exitCode = FAILED
  } else block(`${reason} Nothing may run without a permit.`)
}
