import type { Command } from 'commander'
import type {
  SessionClosed,
  SessionFound,
  SessionOpened,
  SessionShown,
} from '../../mounts/admin/routes/sessions.js'
import { type AdminTarget, adminOptions, callAdmin } from '../access/admin-client.js'
import { plain, printResult, table } from '../output/print.js'
import { registerAudit } from './audit.js'

const HELP = `
A session is opened by an agent's first valid mandate for it, or here. One that is over never opens again;
to stop one for a while: capsule-gate halt --session ID.`

/** Sessions of declared calls, on a running gate. */
export function register(program: Command): void {
  const sessions = program
    .command('sessions')
    .alias('session')
    .description('list, open, close and audit sessions of declared calls')
    .addHelpText('after', HELP)
  const add = (name: string, description: string): Command =>
    adminOptions(sessions.command(name).description(description)).option('--json', 'print JSON')

  add('ls', 'every open session, its agent, and what it waits for').action(list)
  add('show', 'one session').argument('<id>', 'the session').action(show)
  add('open', 'open a session for one agent, before its first declaration')
    .argument('<id>', 'the session')
    .requiredOption('--agent <name>', 'whose it is')
    .action(open)
  add('close', 'end a session, for good: nothing of it is sent or asked any more')
    .argument('<id>', 'the session')
    .action(close)
  registerAudit(sessions)
}

async function list(options: AdminTarget): Promise<void> {
  const found = await callAdmin<{ sessions: SessionShown[] }>(options, 'GET', '/v1/sessions')
  printResult(options, found, () => {
    if (found.sessions.length === 0) return 'no session is open'
    const rows = found.sessions.map((session) => [
      plain(session.session_id),
      plain(session.agent),
      String(session.last_step),
      session.used_at,
      standing(session),
    ])
    return table([['session', 'agent', 'step', 'used', 'state'], ...rows])
  })
}

async function show(id: string, options: AdminTarget): Promise<void> {
  const session = await callAdmin<SessionFound>(options, 'GET', pathOf(id))
  printResult(options, session, () => {
    if (session.state === 'over') return [`session ${plain(session.session_id)}`, 'state over']
    return table([
      ['session', plain(session.session_id)],
      ['agent', plain(session.agent)],
      ['state', standing(session)],
      ['opened', session.opened_at],
      ['used', session.used_at],
      ['last step', String(session.last_step)],
      ['mandates', session.mandates.map(plain).join(' ') || '-'],
      ['mission mismatches', String(session.mismatches)],
    ])
  })
}

async function open(id: string, options: AdminTarget & { agent: string }): Promise<void> {
  const body = { session_id: id, agent: options.agent }
  const done = await callAdmin<SessionOpened>(options, 'POST', '/v1/sessions', body)
  const how = done.recorded ? 'open' : 'open already'
  printResult(options, done, () => `${how}: session ${plain(id)} of ${plain(done.agent)}`)
}

async function close(id: string, options: AdminTarget): Promise<void> {
  const done = await callAdmin<SessionClosed>(options, 'POST', `${pathOf(id)}/close`)
  printResult(
    options,
    done,
    () => `${done.recorded ? 'over' : 'over already'}: session ${plain(id)}`,
  )
}

const pathOf = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`

function standing({ halted, held_by, gap }: SessionShown): string {
  if (gap !== null) return `stopped by a commitment gap: ${plain(held_by ?? gap)}`
  const waits = held_by === null ? 'open' : `waits for people: ${plain(held_by)}`
  return halted ? `halted, ${waits}` : waits
}
