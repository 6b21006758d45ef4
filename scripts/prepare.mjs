/** After `npm ci` in a clone the commands work at once; a production install has no compiler and a built dist. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const compiler = 'node_modules/typescript/bin/tsc'
if (existsSync(compiler)) {
  const { status } = spawnSync(process.execPath, [compiler, '-p', 'tsconfig.build.json'], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
