/**
 * Compiles src to dist and removes what has no source any more. As `npm run prepare` (with --if-present) it does
 * nothing in a production install, which has no compiler and comes with dist.
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { removeStale } from './remove-stale.mjs'

const compiler = 'node_modules/typescript/bin/tsc'
if (existsSync(compiler) || !process.argv.includes('--if-present')) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  })
  removeStale('dist', 'src')
  process.exitCode = status ?? 1
}
