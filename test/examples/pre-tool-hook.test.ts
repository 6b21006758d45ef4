import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { readJournal } from '../../src/adapters/journal/read/read-journal.js'
import type { Capsule } from '../../src/core/capsule/model.js'
import { cli, MAIN, type Ran } from '../cli/support.js'

/** The hook as a client runs it, a process per event, against a real `serve` with the example's own rules. */
const EXAMPLE = join(import.meta.dirname, '..', '..', 'examples', 'pre-tool-hook')
const TOKEN = 'token-of-the-coding-agent'
let home = ''
let state = ''
let url = ''
let people = ''
let ada = ''
let stop: () => Promise<void> = async () => undefined

beforeAll(async () => {
  home = mkdtempSync(join(tmpdir(), 'pre-tool-hook-'))
  state = join(home, 'permits')
  writeFileSync(join(home, 'token'), `${TOKEN}\n`)
  const data = ['--dir', join(home, 'data')]
  const made = await cli(['tokens', 'create', '--role', 'approver', '--name', 'ada', ...data])
  ada = made.out.trim()
  const child = spawn(
    process.execPath,
    [
      ...[MAIN, 'serve', '--config', join(EXAMPLE, 'gate.yaml'), '--data', join(home, 'data')],
      ...['--port', '0', '--admin-port', '0'],
    ],
    {
      env: {
        ...process.env,
        AGENT_TOKEN_SHA256: createHash('sha256').update(TOKEN).digest('hex'),
      },
    },
  )
  child.stdout.resume()
  let said = ''
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (chunk) => {
      said += chunk
      url = /agents connect to +(\S+)\n/.exec(said)?.[1] ?? ''
      people = /operators +(\S+)\n/.exec(said)?.[1] ?? ''
      if (url !== '' && people !== '') resolve()
    })
    child.on('close', () => reject(new Error(said)))
  })
  stop = async () => {
    const closed = once(child, 'close')
    child.kill('SIGTERM')
    await closed
  }
}, 30_000)
afterAll(async () => {
  await stop()
  rmSync(home, { recursive: true, force: true })
})

async function hook(stdin: unknown, env: Record<string, string | undefined> = {}): Promise<Ran> {
  const child = spawn(process.execPath, [join(EXAMPLE, 'hook.mjs')], {
    env: {
      PATH: process.env.PATH,
      GATE_URL: url,
      GATE_TOKEN_FILE: join(home, 'token'),
      GATE_HOOK_STATE: state,
      ...env,
    },
  })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk) => {
    out += chunk
  })
  child.stderr.on('data', (chunk) => {
    err += chunk
  })
  child.stdin.end(typeof stdin === 'string' ? stdin : JSON.stringify(stdin))
  const [code] = await once(child, 'close')
  return { code, out, err }
}

/** A person decides on the one call that waits, as soon as there is one. */
async function decide(decision: 'approve' | 'deny'): Promise<void> {
  const headers = { authorization: `Bearer ${ada}`, 'content-type': 'application/json' }
  type Waiting = { readonly approval_id: string; readonly document_digest: string }
  let waiting: Waiting | undefined
  while (waiting === undefined) {
    const list = await fetch(`${people}/v1/approvals`, { headers })
    const { approvals } = (await list.json()) as { approvals: readonly Waiting[] }
    waiting = approvals[0]
  }
  const { approval_id, document_digest: digest } = waiting
  const decided = await fetch(`${people}/v1/approvals/${approval_id}/decision`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ decision, digest, reason: 'looked at' }),
  })
  expect(decided.status).toBe(200)
}

let uses = 0
const use = (tool_name: string, tool_input: object) => ({
  session_id: 's-1',
  transcript_path: '/nowhere',
  cwd: '/srv/project',
  permission_mode: 'default',
  tool_name,
  tool_input,
  tool_use_id: `toolu_${uses++}`,
})
const pre = (of: object) => ({ hook_event_name: 'PreToolUse', ...of })
const post = (of: object, tool_response: unknown) => ({
  hook_event_name: 'PostToolUse',
  ...of,
  tool_response,
})
const bash = (command: string) => use('Bash', { command, description: 'x', timeout: 1000 })

async function capsules(): Promise<Capsule[]> {
  const all: Capsule[] = []
  for await (const { line } of readJournal(join(home, 'data', 'journal'))) {
    if (line.type === 'CAPSULE') all.push(line.capsule as Capsule)
  }
  return all.filter(({ developer }) => developer !== 'dev.capsulegate.canary')
}
const last = async (): Promise<Capsule | undefined> => (await capsules()).at(-1)

function expectBlocked({ code, out, err }: Ran, why: RegExp): void {
  expect(code).toBe(2)
  expect(err).toMatch(why)
  expect(JSON.parse(out)).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PreToolUse',
      permissionDecision: 'deny',
      permissionDecisionReason: err.trimEnd(),
    },
  })
}

describe('the pre-tool hook', () => {
  it('lets a permitted tool run without a word, and reports what it gave', async () => {
    const of = bash('npm test')
    expect(await hook(pre(of))).toEqual({ code: 0, out: '', err: '' })
    expect(await capsules()).toEqual([])
    expect(readdirSync(state)).toHaveLength(1)
    expect(await hook(post(of, { stdout: 'ok 1', stderr: '' }))).toEqual({
      code: 0,
      out: '',
      err: '',
    })
    expect(readdirSync(state)).toEqual([])
    expect(await last()).toMatchObject({
      disposition: { verdict_class: 'executed' },
      effect: { status: 'dispatched', effect_attestation: 'runtime_claimed' },
    })
  })

  it('reports a tool that failed as failed', async () => {
    const of = bash('npm run broken')
    await hook(pre(of))
    const failure = { hook_event_name: 'PostToolUseFailure', ...of, error: 'exit status 1' }
    expect((await hook(failure)).code).toBe(0)
    expect((await last())?.disposition.verdict_class).toBe('errored')
  })

  it('cuts a result that is too long for a report', async () => {
    const of = bash('cat big')
    await hook(pre(of))
    expect((await hook(post(of, { stdout: 'x'.repeat(1_000_000) }))).code).toBe(0)
    expect((await last())?.disposition.verdict_class).toBe('executed')
  })

  it.each([
    ['a policy', bash('sudo rm -r /'), /policy_denied/],
    ['a constraint', use('Write', { file_path: '/etc/passwd', content: '' }), /constraint_failed/],
    ['a tool that nobody governs', use('WebFetch', { url: 'http://x' }), /tool_unknown/],
    [
      'an argument that nobody judges',
      use('Bash', { command: 'ls', as: 'root' }),
      /member_not_read/,
    ],
  ])('blocks what the gate refuses because of %s', async (_why, of, code) => {
    expectBlocked(await hook(pre(of)), code)
    expect(['denied', 'blocked']).toContain((await last())?.disposition.verdict_class)
    expect(readdirSync(state)).toEqual([])
  })

  it('tells the model the operator’s own reason', async () => {
    const { err } = await hook(pre(bash('sudo ls')))
    expect(err).toContain("Commands run as the agent's own user.")
  })

  it('blocks while a person has not decided, and says what to do', async () => {
    const { code, ...told } = await hook(pre(bash('git push')), { GATE_WAIT_SECONDS: '0' })
    expectBlocked({ code, ...told }, /A person has been asked.*approval_pending/)
    expect((await last())?.disposition.verdict_class).toBe('hitl_dispatched')
    await decide('deny')
  })

  it('waits for the person, and lets run what was approved', async () => {
    const of = bash('git push origin main')
    const [ran] = await Promise.all([hook(pre(of)), decide('approve')])
    expect(ran).toEqual({ code: 0, out: '', err: '' })
    expect((await hook(post(of, {}))).code).toBe(0)
    expect((await last())?.disposition).toMatchObject({
      approver: 'human',
      human_disposed: true,
      verdict_class: 'executed',
    })
  })

  it('blocks what the person refuses', async () => {
    const of = pre(bash('git push --force'))
    const [ran] = await Promise.all([hook(of), decide('deny')])
    expectBlocked(ran, /approval_refused/)
  })

  it.each([
    ['the gate is away', { GATE_URL: 'http://127.0.0.1:9' }],
    ['no gate is named', { GATE_URL: undefined }],
    ['no token is there', { GATE_TOKEN_FILE: '/nowhere' }],
    ['its folder cannot be made', { GATE_HOOK_STATE: '/dev/null/x' }],
  ])('blocks where %s', async (_what, env) => {
    expectBlocked(await hook(pre(bash('ls')), env), /could not be asked/)
  })

  it.each([
    ['nothing', ''],
    ['no JSON', 'tool: Bash'],
    ['no event', 'null'],
    ['a tool without input', { hook_event_name: 'PreToolUse', tool_name: 'Bash' }],
  ])('blocks where it is given %s', async (_what, stdin) => {
    expect((await hook(stdin)).code).toBe(2)
  })

  it('has a tool that ran without asking recorded as that', async () => {
    const { code, err } = await hook(post(bash('ls'), {}))
    expect(code).toBe(1)
    expect(err).toContain('ungated_report')
    expect(await last()).toMatchObject({
      disposition: { decision: 'reject', verdict_class: 'errored' },
      effect: { type: 'dev.capsulegate.ungated' },
    })
  })

  it('leaves other events alone', async () => {
    expect(await hook({ hook_event_name: 'Stop' })).toEqual({ code: 0, out: '', err: '' })
  })

  it('reports to a gate that is away with a failure that stops nothing', async () => {
    const of = bash('date')
    await hook(pre(of))
    const { code, err } = await hook(post(of, {}), { GATE_URL: 'http://127.0.0.1:9' })
    expect(code).toBe(1)
    expect(err).toContain('recorded as a timeout')
  })
})
