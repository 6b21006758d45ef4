/**
 * `npm run bench`: every measure of this folder, one after the other, each a process of its own. Ratios
 * within one run are what counts; the machine should have nothing else to do.
 * `npm run bench -- verify proxy` runs only those; with `--short` each runs one tiny round.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { args, SHORT } from './stats.mjs'

const BENCHES = {
  verify: 'verify.mjs',
  cedar: 'cedar.mjs',
  journal: 'journal.mjs',
  upstream: 'upstream.mjs',
  spine: 'spine.mjs',
  proxy: 'proxy/run.mjs',
  intent: 'intent/run.mjs',
  'intent-boot': 'intent/boot.mjs',
  mcp: 'mcp/run.mjs',
}
const wanted = args
const unknown = wanted.filter((name) => !(name in BENCHES))
if (unknown.length > 0) {
  process.stderr.write(
    `unknown: ${unknown.join(', ')}; there are ${Object.keys(BENCHES).join(', ')}\n`,
  )
  process.exit(2)
}
let failed = 0
for (const [name, file] of Object.entries(BENCHES)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue
  process.stdout.write(`\n── ${name}\n`)
  const path = fileURLToPath(new URL(file, import.meta.url))
  const { status } = spawnSync(process.execPath, SHORT ? [path, '--short'] : [path], {
    stdio: 'inherit',
  })
  if (status !== 0) failed++
}
process.exitCode = failed === 0 ? 0 : 1
