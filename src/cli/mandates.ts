import type { Command } from 'commander'
import type { MandateRevoked } from '../mounts/admin/routes/governed.js'
import { type AdminTarget, adminOptions, callAdmin } from './access/admin-client.js'
import { plain, printResult } from './output/print.js'

const HELP = `
In force on the next call, and on calls judged but not yet sent; recorded, and kept over restarts. There is
no way back: its issuer gives a new mandate.`

export function register(program: Command): void {
  const mandates = program.command('mandates').description('revoke mandates of declared calls')
  adminOptions(mandates.command('revoke').description('send no call under a mandate any more'))
    .argument('<id>', 'the mandate, as its jti says')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(revoke)
}

async function revoke(id: string, options: AdminTarget): Promise<void> {
  const path = `/v1/mandates/${encodeURIComponent(id)}/revoke`
  const done = await callAdmin<MandateRevoked>(options, 'POST', path)
  const how = done.recorded ? 'revoked' : 'revoked already'
  printResult(options, done, () => `${how}: mandate ${plain(id)}`)
}
